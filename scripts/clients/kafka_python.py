# SPDX-License-Identifier: Apache-2.0
# kafka-python of any version; run.py says what its arguments are. API_VERSION: protocols of an older broker.
import os
import sys
import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

COMMON = {"bootstrap_servers": os.environ["BROKERS"].split(",")}
if "API_VERSION" in os.environ:
    COMMON["api_version"] = tuple(map(int, os.environ["API_VERSION"].split(".")))


def with_epoch(offset):
    try:
        return OffsetAndMetadata(offset, "", -1)
    except TypeError:
        return OffsetAndMetadata(offset, "")


def consume(mode, topic, start, limit, extra_ms):
    limit, extra_s = int(limit), int(extra_ms) / 1000
    in_group = mode == "group"
    consumer = KafkaConsumer(group_id=start if in_group else None, auto_offset_reset="earliest",
                             enable_auto_commit=False, **COMMON)
    if in_group:
        consumer.subscribe([topic])
    else:
        partitions = [TopicPartition(topic, i) for i in range(3)]
        starts = dict(pair.split(":") for pair in start.split(",") if ":" in pair)
        consumer.assign(partitions)
        for partition in partitions:
            consumer.seek(partition, int(starts.get(str(partition.partition), 0)))
    count, after, end, done = 0, {}, time.time() + float(os.environ["LIMIT_S"]), None
    while time.time() < (done or end):
        for partition, records in consumer.poll(100).items():
            for record in records:
                if done is not None and extra_s == 0:
                    break
                is_placeholder = record.value is None
                print(record.partition, record.offset, "null" if is_placeholder else record.key.decode())
                count += not is_placeholder
                after[partition] = record.offset + 1
                if count == limit and done is None:
                    done = time.time() + extra_s
    if in_group and after:
        consumer.commit({partition: with_epoch(offset) for partition, offset in after.items()})
    consumer.close()


def produce(topic, run, count, codec, acks, is_idempotent):
    options = dict(COMMON)
    if "HAS_IDEMPOTENCE" in os.environ:
        options["enable_idempotence"] = is_idempotent == "1"
    producer = KafkaProducer(linger_ms=5, acks="all" if acks == "-1" else int(acks),
                             compression_type=None if codec == "none" else codec, **options)
    sent = [producer.send(topic, b"%s-%d" % (run.encode(), i), b"k%d" % (i % 50)) for i in range(int(count))]
    producer.flush(timeout=30)
    for one in sent:
        one.get(30)
    producer.close()
    print("ok")


try:
    {"consume": consume, "produce": produce}[sys.argv[1]](*sys.argv[2:])
except Exception as error:
    print("error", type(error).__name__, str(error).replace("\n", " "))
