// SPDX-License-Identifier: Apache-2.0
// @platformatic/kafka; run.py says what its arguments are.
const fs = require('fs')

// It wants Node 22; this is all it needs to run on Node 20.
Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new this((a, b) => { resolve = a; reject = b })
  return { promise, resolve, reject }
}
const { Consumer, Producer } = require('@platformatic/kafka')

const base = { clientId: 'policies', bootstrapBrokers: process.env.BROKERS.split(',') }
const protocol = process.env.GROUP_PROTOCOL === 'consumer'
  ? { groupProtocol: 'consumer' } : { sessionTimeout: 10000, heartbeatInterval: 1000 }
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

async function consume(mode, topic, start, limit, extraMs) {
  const inGroup = mode === 'group'
  const groupId = inGroup ? start : 'manual-' + process.pid
  const consumer = new Consumer({ ...base, groupId, autocommit: false, maxWaitTime: 200, ...protocol })
  const starts = Object.fromEntries(inGroup ? [] : start.split(',').filter(x => x.includes(':')).map(x => x.split(':')))
  const manual = () => [0, 1, 2].map(partition => ({ topic, partition, offset: BigInt(starts[partition] || 0) }))
  const from = inGroup ? { mode: 'committed', fallbackMode: 'earliest' } : { mode: 'manual', offsets: manual() }
  const lines = []
  const next = {}
  let done = 0
  const stream = await consumer.consume({ topics: [topic], ...from, autocommit: false, maxWaitTime: 200 })
  stream.on('data', message => {
    if (done && +extraMs === 0) return
    lines.push(`${message.partition} ${message.offset} ${message.key}`)
    next[message.partition] = message.offset + 1n
    if (lines.length === +limit) done = Date.now() + +extraMs
  })
  stream.on('error', error => lines.push('error ' + error.message))
  const end = Date.now() + 1000 * +process.env.LIMIT_S
  while (Date.now() < (done || end)) await sleep(20)
  if (inGroup && lines.length > 0) {
    const offsets = Object.entries(next).map(([p, offset]) => ({ topic, partition: +p, offset, leaderEpoch: 0 }))
    await consumer.commit({ offsets })
  }
  await stream.close()
  await consumer.close(true)
  fs.writeSync(1, lines.join('\n') + '\n')
}

async function produce(topic, run, count, codec, acks, isIdempotent) {
  const options = { acks: +acks }
  if (codec !== 'none') options.compression = codec
  if (isIdempotent === '1') options.idempotent = true
  const producer = new Producer({ ...base, ...options })
  const messages = Array.from({ length: +count }, (_, i) => (
    { topic, key: Buffer.from('k' + (i % 50)), value: Buffer.from(`${run}-${i}`) }))
  for (let i = 0; i < messages.length; i += 500) {
    await producer.send({ messages: messages.slice(i, i + 500), ...options })
  }
  await producer.close()
  console.log('ok')
}

const all = error => [error.message, ...(error.errors || []).map(all)].join(' / ')
const [what, ...words] = process.argv.slice(2)
const failed = error => console.log(`error ${error.name} ${all(error)}`.replace(/\n/g, ' '))
;({ consume, produce })[what](...words).catch(failed).then(() => process.exit(0))
