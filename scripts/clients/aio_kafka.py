# SPDX-License-Identifier: Apache-2.0
# aiokafka; run.py says what its arguments are.
import asyncio
import os
import sys
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

BROKERS = os.environ["BROKERS"]


async def consume(mode, topic, start, limit, extra_ms):
    limit, extra_s = int(limit), int(extra_ms) / 1000
    in_group = mode == "group"
    consumer = AIOKafkaConsumer(bootstrap_servers=BROKERS, group_id=start if in_group else None,
                                auto_offset_reset="earliest", enable_auto_commit=False)
    if in_group:
        consumer.subscribe([topic])
    await consumer.start()
    if not in_group:
        partitions = [TopicPartition(topic, i) for i in range(3)]
        starts = dict(pair.split(":") for pair in start.split(",") if ":" in pair)
        consumer.assign(partitions)
        for partition in partitions:
            consumer.seek(partition, int(starts.get(str(partition.partition), 0)))
    count, after, end, done = 0, {}, time.time() + float(os.environ["LIMIT_S"]), None
    while time.time() < (done or end):
        for partition, records in (await consumer.getmany(timeout_ms=100)).items():
            for record in records:
                if done is not None and extra_s == 0:
                    break
                print(record.partition, record.offset, record.key.decode())
                count += 1
                after[partition] = record.offset + 1
                if count == limit:
                    done = time.time() + extra_s
    if in_group and after:
        await consumer.commit(after)
    await consumer.stop()


async def produce(topic, run, count, codec, acks, is_idempotent):
    producer = AIOKafkaProducer(bootstrap_servers=BROKERS, linger_ms=5, acks="all" if acks == "-1" else int(acks),
                                compression_type=None if codec == "none" else codec,
                                enable_idempotence=is_idempotent == "1")
    await producer.start()
    try:
        sent = [await producer.send(topic, b"%s-%d" % (run.encode(), i), b"k%d" % (i % 50)) for i in range(int(count))]
        await asyncio.wait_for(asyncio.gather(*sent), 40)
    finally:
        await producer.stop()
    print("ok")


try:
    asyncio.run({"consume": consume, "produce": produce}[sys.argv[1]](*sys.argv[2:]))
except Exception as error:
    print("error", type(error).__name__, str(error).replace("\n", " "))
