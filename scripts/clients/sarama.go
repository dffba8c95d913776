// SPDX-License-Identifier: Apache-2.0
// sarama; run.py says what its arguments are.
package main

import (
	"context"
	"fmt"
	"github.com/IBM/sarama"
	"time"
)

func conf() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Producer.Return.Successes = true
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = false
	c.Consumer.MaxWaitTime = 200 * time.Millisecond
	return c
}

type handler struct {
	s   *sink
	ses sarama.ConsumerGroupSession
}

func (h *handler) Setup(s sarama.ConsumerGroupSession) error { h.ses = s; return nil }
func (*handler) Cleanup(sarama.ConsumerGroupSession) error   { return nil }
func (h *handler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, ok := <-c.Messages():
			if !ok {
				return nil
			}
			if h.s.add(int(m.Partition), m.Offset, string(m.Key)) {
				s.MarkMessage(m, "")
			}
		case <-s.Context().Done():
			return nil
		}
	}
}
func consume(mode, topic, how string, s *sink) {
	if mode == "group" {
		g := val(sarama.NewConsumerGroup(BROKERS, how, conf()))
		ctx, cancel := context.WithCancel(context.Background())
		h := &handler{s: s}
		errs := make(chan error, 1)
		go func() { errs <- g.Consume(ctx, []string{topic}, h) }()
		s.wait()
		h.ses.Commit()
		cancel()
		must(<-errs)
		g.Close()
	} else {
		c := val(sarama.NewConsumer(BROKERS, conf()))
		for p, o := range starts(how) {
			pc := val(c.ConsumePartition(topic, int32(p), o))
			go func() {
				for m := range pc.Messages() {
					s.add(int(m.Partition), m.Offset, string(m.Key))
				}
			}()
		}
		s.wait()
	}
	s.finish()
}
func produce(topic, run string, n int, codec string, acks int, idem bool) {
	c := conf()
	c.Producer.Compression = map[string]sarama.CompressionCodec{"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD}[codec]
	c.Producer.RequiredAcks = sarama.RequiredAcks(acks)
	if idem {
		c.Producer.Idempotent = true
		c.Net.MaxOpenRequests = 1
	}
	p := val(sarama.NewSyncProducer(BROKERS, c))
	var ms []*sarama.ProducerMessage
	for i := 0; i < n; i++ {
		ms = append(ms, &sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(fmt.Sprintf("k%d", i%50)), Value: sarama.StringEncoder(fmt.Sprintf("%s-%d", run, i))})
	}
	err := p.SendMessages(ms)
	if es, ok := err.(sarama.ProducerErrors); ok {
		fmt.Println("error", len(es), es[0].Err)
		return
	}
	must(err)
	p.Close()
	fmt.Println("ok")
}
