// SPDX-License-Identifier: Apache-2.0
// franz-go; run.py says what its arguments are.
package main

import (
	"context"
	"fmt"
	"github.com/twmb/franz-go/pkg/kgo"
	"os"
	"time"
)

func consume(mode, topic, how string, s *sink) {
	ctx := context.Background()
	opts := []kgo.Opt{kgo.SeedBrokers(BROKERS...), kgo.FetchMaxWait(200 * time.Millisecond), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	c := ctx
	if os.Getenv("GROUP_PROTOCOL") == "consumer" {
		c = context.WithValue(ctx, "opt_in_kafka_next_gen_balancer_beta", true)
	}
	if mode == "group" {
		opts = append(opts, kgo.WithContext(c), kgo.ConsumerGroup(how), kgo.ConsumeTopics(topic))
	} else {
		m := map[int32]kgo.Offset{}
		for p, o := range starts(how) {
			m[int32(p)] = kgo.NewOffset().At(o)
		}
		opts = []kgo.Opt{opts[0], opts[1], kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: m})}
	}
	cl := val(kgo.NewClient(opts...))
	for !s.over() {
		x, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		fs := cl.PollFetches(x)
		cancel()
		fs.EachError(func(t string, p int32, err error) {
			if err != context.DeadlineExceeded {
				fmt.Fprintln(s.w, "error", t, p, err)
			}
		})
		fs.EachRecord(func(r *kgo.Record) { s.add(int(r.Partition), r.Offset, string(r.Key)) })
	}
	if mode == "group" && s.n > 0 {
		m := map[string]map[int32]kgo.EpochOffset{topic: {}}
		for p, o := range s.next {
			m[topic][int32(p)] = kgo.EpochOffset{Epoch: -1, Offset: o}
		}
		cl.CommitOffsetsSync(ctx, m, nil)
	}
	cl.Close()
	s.finish()
}
func produce(topic, run string, n int, codec string, acks int, idem bool) {
	c := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}[codec]
	opts := []kgo.Opt{kgo.SeedBrokers(BROKERS...), kgo.ProducerBatchCompression(c), kgo.ProducerLinger(5 * time.Millisecond), kgo.RecordDeliveryTimeout(40 * time.Second)}
	if !idem {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.RequiredAcks(map[int]kgo.Acks{0: kgo.NoAck(), 1: kgo.LeaderAck(), -1: kgo.AllISRAcks()}[acks]))
	}
	cl := val(kgo.NewClient(opts...))
	var rs []*kgo.Record
	for i := 0; i < n; i++ {
		rs = append(rs, &kgo.Record{Topic: topic, Key: []byte(fmt.Sprintf("k%d", i%50)), Value: []byte(fmt.Sprintf("%s-%d", run, i))})
	}
	must(cl.ProduceSync(context.Background(), rs...).FirstErr())
	cl.Close()
	fmt.Println("ok")
}
