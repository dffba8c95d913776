# SPDX-License-Identifier: Apache-2.0
# confluent-kafka, which is librdkafka; run.py says what its arguments are.
import os
import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition

BROKERS = {"bootstrap.servers": os.environ["BROKERS"]}


def consume(mode, topic, start, limit, extra_ms):
    limit, extra_s = int(limit), int(extra_ms) / 1000
    in_group = mode == "group"
    consumer = Consumer({**BROKERS, "group.id": start if in_group else "unused", "auto.offset.reset": "earliest",
                         "enable.auto.commit": False, "group.protocol": os.environ.get("GROUP_PROTOCOL", "classic")})
    if in_group:
        consumer.subscribe([topic])
    else:
        starts = dict(pair.split(":") for pair in start.split(",") if ":" in pair)
        consumer.assign([TopicPartition(topic, i, int(starts.get(str(i), 0))) for i in range(3)])
    count, after, end, done = 0, {}, time.time() + float(os.environ["LIMIT_S"]), None
    while time.time() < (done or end):
        for record in consumer.consume(1000, 0.1):
            if record.error():
                print("error", record.error())
                continue
            if done is not None and extra_s == 0:
                break
            print(record.partition(), record.offset(), record.key().decode())
            count += 1
            after[record.partition()] = record.offset() + 1
            if count == limit:
                done = time.time() + extra_s
    if in_group and after:
        consumer.commit(offsets=[TopicPartition(topic, i, o) for i, o in after.items()], asynchronous=False)
    consumer.close()


def produce(topic, run, count, codec, acks, is_idempotent):
    errors = []
    producer = Producer({**BROKERS, "linger.ms": 5, "acks": acks, "compression.type": codec,
                         "enable.idempotence": is_idempotent == "1", "message.timeout.ms": 40000})
    for i in range(int(count)):
        producer.produce(topic, f"{run}-{i}", f"k{i % 50}", on_delivery=lambda error, _: error and errors.append(error))
    left = producer.flush(45)
    print("error %d %s" % (left, errors[:1]) if left or errors else "ok")


try:
    {"consume": consume, "produce": produce}[sys.argv[1]](*sys.argv[2:])
except Exception as error:
    print("error", type(error).__name__, str(error).replace("\n", " "))
