// SPDX-License-Identifier: Apache-2.0
// kafkajs, which has no way to read partitions without a group; run.py says what its arguments are.
const fs = require('fs')
const { Kafka, CompressionTypes, logLevel } = require('kafkajs')

const kafka = new Kafka({
  brokers: process.env.BROKERS.split(','), logLevel: logLevel.NOTHING, retry: { initialRetryTime: 100 },
})
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

async function consume(mode, topic, groupId, limit, extraMs) {
  const consumer = kafka.consumer({ groupId, sessionTimeout: 10000, maxWaitTimeInMs: 200 })
  const lines = []
  const next = {}
  let done = 0
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      if (done && +extraMs === 0) return
      lines.push(`${partition} ${message.offset} ${message.key}`)
      next[partition] = String(BigInt(message.offset) + 1n)
      if (lines.length === +limit) done = Date.now() + +extraMs
    },
  })
  const end = Date.now() + 1000 * +process.env.LIMIT_S
  while (Date.now() < (done || end)) await sleep(20)
  if (lines.length > 0) {
    await consumer.commitOffsets(Object.entries(next).map(([p, offset]) => ({ topic, partition: +p, offset })))
  }
  await consumer.disconnect()
  fs.writeSync(1, lines.join('\n') + '\n')
}

async function produce(topic, run, count, codec, acks, isIdempotent) {
  const idempotent = isIdempotent === '1'
  const producer = kafka.producer({ idempotent, maxInFlightRequests: idempotent ? 1 : undefined })
  await producer.connect()
  const messages = Array.from({ length: +count }, (_, i) => ({ key: 'k' + (i % 50), value: `${run}-${i}` }))
  const compression = codec === 'gzip' ? CompressionTypes.GZIP : CompressionTypes.None
  for (let i = 0; i < messages.length; i += 500) {
    await producer.send({ topic, acks: +acks, compression, messages: messages.slice(i, i + 500) })
  }
  await producer.disconnect()
  console.log('ok')
}

const [what, ...words] = process.argv.slice(2)
const failed = error => console.log(`error ${error.name} ${error.message}`.replace(/\n/g, ' '))
;({ consume, produce })[what](...words).catch(failed).then(() => process.exit(0))
