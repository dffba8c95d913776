#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Functions of a configuration (policies.lua) as clients of other projects meet them: views and transform_fetch are read
# without a group and in one, half of the records first; what goes through a partitioner and a transform is read back
# and looked at record by record; and what functions refuse is an error within 15 seconds. `scripts/conformance policies`
# starts a broker and runs this with a Python that has confluent-kafka, the reader.
#
# usage: BROKERS=HOST:PORT CACHE=FOLDER OUT=FOLDER run.py [views|masked|produce|refuse|CLIENT ...]
#
# CACHE has the clients' packages in client-NAME, as `scripts/conformance clients` puts them there. Their programs, in
# their own languages beside this file, are called as
#
#   consume assign TOPIC START LIMIT EXTRA_MS       START is partition:offset,... and 0 for what is not there
#   consume group  TOPIC GROUP LIMIT EXTRA_MS       goes on behind what the group committed, and commits
#   produce TOPIC RUN COUNT CODEC ACKS IDEMPOTENT   keys k0 to k49, values RUN-0 and so on
#
# and print "partition offset key" for each record, "null" in place of the key of a placeholder (a record without a
# value: clients that know no control batches see those where records are hidden), or "ok", or "error" and why. They end
# EXTRA_MS behind the record that makes LIMIT, or after LIMIT_S seconds. One line for each check, and the totals, as
# other suites give them.
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import time
import uuid
import zlib

from confluent_kafka import Consumer, Producer, TopicPartition

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ["CACHE"])
OUT = pathlib.Path(os.environ["OUT"])
BROKERS = {"bootstrap.servers": os.environ["BROKERS"]}
COUNT, PARTITIONS = 100000, 3
PRODUCED = 2000
REFUSED_S = 15
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
OLD_CODECS = CODECS[:4]
SHOWN = {"few": lambda i: i % 1000 == 0, "late": lambda i: 99990 <= i < 99993, "all": lambda i: True}

Client = collections.namedtuple("Client", "package kind env codecs idempotent assigned placeholders",
                                defaults=({}, CODECS, True, True, False))
NEW_GROUPS = {"GROUP_PROTOCOL": "consumer"}


def old_python(version, codecs=OLD_CODECS):
    return Client("kafka-python-1.4.7", "kafka_python.py", {"API_VERSION": version} if version else {}, codecs, False,
                  placeholders=True)


# 0.8.2 and 0.9 of kafka-python are without lz4: its old form wants a package that the client does not bring.
CLIENTS = {
    "kcat": Client("kcat", "kcat.sh"),
    "confluent-kafka": Client("confluent-kafka", "confluent.py"),
    "confluent-kafka/848": Client("confluent-kafka", "confluent.py", NEW_GROUPS, assigned=False),
    "kafka-python": Client("kafka-python", "kafka_python.py", {"HAS_IDEMPOTENCE": "1"}),
    "kafka-python-2.0.2": Client("kafka-python-2.0.2", "kafka_python.py", {}, CODECS, False, placeholders=True),
    "kafka-python-1.4.7": old_python(None),
    "kafka-python-1.4.7/0.10": old_python("0.10"),
    "kafka-python-1.4.7/0.9": old_python("0.9", CODECS[:3]),
    "kafka-python-1.4.7/0.8.2": old_python("0.8.2", CODECS[:3]),
    "aiokafka": Client("aiokafka", "aio_kafka.py"),
    "kafkajs": Client("kafkajs", "kafkajs.js", codecs=CODECS[:2], assigned=False),
    "platformatic": Client("platformatic", "platformatic.js", codecs=OLD_CODECS),
    "platformatic/848": Client("platformatic", "platformatic.js", NEW_GROUPS, OLD_CODECS, assigned=False),
    "java-4.4.0": Client("java-4.4.0", "Client.java"),
    "java-4.4.0/848": Client("java-4.4.0", "Client.java", NEW_GROUPS, assigned=False),
    "java-2.8.2": Client("java-2.8.2", "Client.java"),
    "java-1.1.1": Client("java-1.1.1", "Client.java", codecs=OLD_CODECS),
    "java-0.10.2.2": Client("java-0.10.2.2", "Client.java", {}, OLD_CODECS, False, placeholders=True),
    "franz-go": Client("franz-go", "franz_go.go"),
    "franz-go/848": Client("franz-go", "franz_go.go", NEW_GROUPS, assigned=False),
    "sarama": Client("sarama", "sarama.go"),
    "kafka-go": Client("kafka-go", "kafka_go.go", {}, CODECS, False, placeholders=True),
}

totals = collections.Counter()


def say(status, client, what, why=""):
    totals[status] += 1
    print(status, client, what, why, flush=True)


# ---- programs ----

def command_of(client):
    """The words that a program begins with, made ready; None when its packages are not there."""
    folder = CACHE / ("client-" + client.package)
    program = HERE / client.kind
    built = OUT / "policies" / client.package
    if not folder.exists() or (client.package == "kcat" and not shutil.which("kcat")):
        return None
    if client.kind.endswith(".py"):
        return [folder / "venv/bin/python", program]
    if client.kind.endswith(".js"):
        return ["env", f"NODE_PATH={folder}/node_modules", "node", program]
    if client.kind.endswith(".java"):
        if not built.exists():
            subprocess.run(["javac", "-nowarn", "-cp", f"{folder}/lib/*", "-d", built, program], check=True)
        return ["java", "-Xmx256M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{built}:{folder}/lib/*", "Client"]
    if client.kind.endswith(".go"):
        if not (built / "program").exists():
            built.mkdir(parents=True, exist_ok=True)
            for source in (folder / "go.mod", folder / "go.sum", HERE / "common.go", program):
                (built / source.name).write_bytes(source.read_bytes())
            subprocess.run(["go", "build", "-o", "program", "."], cwd=built, check=True)
        return [built / "program"]
    return ["bash", program]


def run(client, *words, limit_s=60):
    """What a program printed, as lines, and how many seconds it took."""
    began = time.time()
    env = {**os.environ, **client.env, "LIMIT_S": str(limit_s)}
    try:
        done = subprocess.run([*command_of(client), *map(str, words)], env=env, text=True, errors="replace",
                              timeout=limit_s + 30, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        lines = done.stdout.strip().split("\n")
    except subprocess.TimeoutExpired:
        lines = ["error it did not end"]
    return lines, time.time() - began


# ---- what is stored ----

def ends(topic):
    reader = Consumer({**BROKERS, "group.id": "reader"})
    count = len(reader.list_topics(topic, 10).topics[topic].partitions)
    offsets = [reader.get_watermark_offsets(TopicPartition(topic, i), 10)[1] for i in range(count)]
    reader.close()
    return offsets


def read(topic, starts):
    """All records from `starts` to the ends, as lists of messages by partition."""
    reader = Consumer({**BROKERS, "group.id": "reader", "enable.partition.eof": True, "enable.auto.commit": False})
    last = ends(topic)
    live = {i for i, end in enumerate(last) if end > starts[i]}
    reader.assign([TopicPartition(topic, i, starts[i]) for i in live])
    found = [[] for _ in last]
    until = time.time() + 60
    while live and time.time() < until:
        for message in reader.consume(1000, 0.1):
            if message.error():
                live.discard(message.partition())
            else:
                found[message.partition()].append(message)
    reader.close()
    return found


def fill(topic):
    """Batches of all sizes, packed and not, in the codecs that every client has."""
    for codec, batch, begin, end in (("none", 10000, 0, 60000), ("gzip", 50, 60000, COUNT)):
        producer = Producer({**BROKERS, "linger.ms": 20, "compression.type": codec, "batch.num.messages": batch,
                             "queue.buffering.max.messages": COUNT})
        for i in range(begin, end):
            producer.produce(topic, b"v" * 90, b"n%d" % i, partition=i % PARTITIONS)
        if producer.flush(60) > 0:
            sys.exit(f"{topic} cannot be filled")


# ---- checks ----

def consume_in_two(client, topic, mode, is_shown):
    """None when the client gets all records once, in their order, in two goes; or what is wrong."""
    wanted = {i: [(n // PARTITIONS, f"n{n}") for n in range(i, COUNT, PARTITIONS) if is_shown(n)] for i in range(PARTITIONS)}
    total = sum(map(len, wanted.values()))
    group = "group-" + uuid.uuid4().hex
    start, got, seconds = (group if mode == "group" else "-"), [], []
    for limit, extra_ms in ((total // 2, 0), (total - total // 2, 1000)):
        lines, took = run(client, "consume", mode, topic, start, limit, extra_ms)
        seconds.append(took)
        words = [line.split(" ") for line in lines if line]
        wrong = [line for line in lines if line and not line[0].isdigit()]
        if wrong:
            return wrong[0]
        records = [(int(i), int(offset), key) for i, offset, key in words]
        shown = sum(key != "null" for _, _, key in records)
        if shown != limit:
            return f"{shown} records in place of {limit}, in {took:.0f} s"
        got += records
        if mode == "assign":
            start = ",".join(f"{i}:{offset + 1}" for i, offset in {i: offset for i, offset, _ in got}.items())
    for i in range(PARTITIONS):
        if [(offset, key) for j, offset, key in got if j == i and key != "null"] != wanted[i]:
            return f"partition {i} has other records"
    placeholders = sum(key == "null" for _, _, key in got)
    return f"{placeholders} placeholders" if placeholders > 0 and not client.placeholders else None


def check_consume(name, client, topics):
    for topic in topics:
        for mode in ("assign", "group"):
            if (mode == "assign" and not client.assigned) or (mode == "group" and name.endswith("/0.8.2")):
                continue
            wrong = consume_in_two(client, topic, mode, SHOWN.get(topic, SHOWN["few"]))
            say("FAIL" if wrong else "PASS", name, f"{topic}-{mode}", wrong or "")


def produced_wrongly(run_id, kept, emitted):
    """What is wrong with what is stored of a run."""
    seen, last = collections.Counter(), {}
    for partition, messages in enumerate(kept):
        for message in messages:
            key, (run_of, number) = message.key(), message.value().decode().split("-")
            number = int(number)
            seen[number] += 1
            if run_of != run_id or key != b"k%d" % (number % 50) or zlib.crc32(key) % len(kept) != partition:
                return f"{message.value()} with {key} is in partition {partition}"
            if dict(message.headers() or []).get("seen") != b"%d" % partition:
                return f"{message.value()} has no header, or another"
            if last.get(key, -1) > number:
                return f"{number} comes behind {last[key]}"
            last[key] = number
    if seen != collections.Counter(i for i in range(PRODUCED) if i % 10 not in (3, 7)):
        return f"{len(seen)} records, {sum(seen.values())} in all"
    aside = collections.Counter(int(m.value().decode().split("-")[1]) for part in emitted for m in part)
    if aside != collections.Counter(range(7, PRODUCED, 10)):
        return f"{len(aside)} records are emitted, {sum(aside.values())} in all"
    return None


def check_produce(name, client):
    cases = [(codec, -1, 0) for codec in client.codecs] + [("none", 0, 0), ("none", 1, 0)]
    cases += [(codec, -1, 1) for codec in client.codecs if client.idempotent]
    for topic in ("interpreted", "compiled"):
        for codec, acks, idempotent in cases:
            run_id, starts, aside = uuid.uuid4().hex, ends(topic), ends("side")
            lines, _ = run(client, "produce", topic, run_id, PRODUCED, codec, acks, idempotent)
            wrong = None if lines[-1] == "ok" else lines[-1]
            until = time.time() + (10 if acks == 0 else 0)  # what nobody acknowledges may come later
            while lines[-1] == "ok":
                wrong = produced_wrongly(run_id, read(topic, starts), read("side", aside))
                if wrong is None or time.time() >= until:
                    break
            what = f"{topic}-{codec}-acks={acks}" + ("-idempotent" if idempotent else "")
            say("FAIL" if wrong else "PASS", name, what, wrong or "")


def check_refuse(name, client):
    for topic in ("reject", "raise", "choose", "loop"):
        for idempotent in (0, 1) if client.idempotent else (0,):
            lines, took = run(client, "produce", topic, "x", 20, "none", -1, idempotent)
            is_told = lines[-1].startswith("error") and took < REFUSED_S
            say("PASS" if is_told else "FAIL", name, topic + ("-idempotent" if idempotent else ""), f"{took:.1f} s: {lines[-1][:300]}")


def main(words):
    kinds = [word for word in words if word in ("views", "masked", "produce", "refuse")]
    kinds = kinds or ["views", "masked", "produce", "refuse"]
    names = [word for word in words if word in CLIENTS] or list(CLIENTS)
    unknown = set(words) - set(CLIENTS) - {"views", "masked", "produce", "refuse"}
    if unknown:
        sys.exit(f"there is no {', '.join(unknown)}; clients are {' '.join(CLIENTS)}")
    for kind, topic in (("views", "source"), ("masked", "masked")):
        if kind in kinds:
            fill(topic)
    for name in names:
        client = CLIENTS[name]
        if command_of(client) is None:
            say("SKIP", name, "(its packages are not there: scripts/conformance clients fetches them)")
            continue
        if "views" in kinds:
            check_consume(name, client, ["few", "late", "all"])
        if "masked" in kinds:
            check_consume(name, client, ["masked"])
        if "GROUP_PROTOCOL" in client.env:
            continue
        if "produce" in kinds:
            check_produce(name, client)
        if "refuse" in kinds:
            check_refuse(name, client)
    print(f"{totals['PASS']} passed, {totals['FAIL']} failed, {totals['SKIP']} skipped")
    return 1 if totals["FAIL"] else 0


sys.exit(main(sys.argv[1:]))
