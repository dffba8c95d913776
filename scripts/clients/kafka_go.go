// SPDX-License-Identifier: Apache-2.0
// kafka-go; run.py says what its arguments are.
package main

import (
	"context"
	"errors"
	"fmt"
	kafka "github.com/segmentio/kafka-go"
	"time"
)

func read(r *kafka.Reader, s *sink) (ms []kafka.Message) {
	for !s.over() {
		c, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		m, err := r.FetchMessage(c)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			continue
		}
		must(err)
		if s.add(m.Partition, m.Offset, map[bool]string{false: string(m.Key)}[m.Value == nil]) {
			ms = append(ms, m)
		}
	}
	return
}
func consume(mode, topic, how string, s *sink) {
	if mode == "group" {
		r := kafka.NewReader(kafka.ReaderConfig{Brokers: BROKERS, GroupID: how, Topic: topic, StartOffset: kafka.FirstOffset, MaxWait: 200 * time.Millisecond})
		ms := read(r, s)
		if len(ms) > 0 {
			must(r.CommitMessages(context.Background(), ms...))
		}
		r.Close()
	} else {
		for p, o := range starts(how) {
			r := kafka.NewReader(kafka.ReaderConfig{Brokers: BROKERS, Topic: topic, Partition: p, MaxWait: 200 * time.Millisecond})
			must(r.SetOffset(o))
			go read(r, s)
		}
		s.wait()
	}
	s.finish()
}
func produce(topic, run string, n int, codec string, acks int, idem bool) {
	w := &kafka.Writer{Addr: kafka.TCP(BROKERS...), Topic: topic, RequiredAcks: kafka.RequiredAcks(acks), BatchTimeout: 10 * time.Millisecond, Balancer: &kafka.Hash{},
		Compression: map[string]kafka.Compression{"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd}[codec]}
	var ms []kafka.Message
	for i := 0; i < n; i++ {
		ms = append(ms, kafka.Message{Key: []byte(fmt.Sprintf("k%d", i%50)), Value: []byte(fmt.Sprintf("%s-%d", run, i))})
	}
	c, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	err := w.WriteMessages(c, ms...)
	if es, ok := err.(kafka.WriteErrors); ok {
		for _, e := range es {
			if e != nil {
				fmt.Println("error", es.Count(), e)
				return
			}
		}
	}
	must(err)
	w.Close()
	fmt.Println("ok")
}
