// SPDX-License-Identifier: Apache-2.0
// What the Go programs share; run.py puts it beside each, and says what their arguments are.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

var BROKERS = strings.Split(os.Getenv("BROKERS"), ",")

func must(err error) {
	if err != nil {
		fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
		os.Exit(0)
	}
}
func val[T any](v T, err error) T { must(err); return v }
func atoi(s string) int           { return val(strconv.Atoi(s)) }
func secs() time.Duration         { return time.Duration(atoi(os.Getenv("LIMIT_S"))) * time.Second }
func starts(how string) map[int]int64 {
	m := map[int]int64{0: 0, 1: 0, 2: 0}
	for _, x := range strings.Split(how, ",") {
		if p, o, ok := strings.Cut(x, ":"); ok {
			m[atoi(p)] = int64(atoi(o))
		}
	}
	return m
}

// sink prints records up to a limit, or for extra milliseconds after it.
type sink struct {
	mu       sync.Mutex
	w        *bufio.Writer
	n, limit int
	extra    time.Duration
	done     time.Time
	next     map[int]int64
	end      time.Time
}

func newSink(limit, extra string) *sink {
	return &sink{w: bufio.NewWriter(os.Stdout), limit: atoi(limit), extra: time.Duration(atoi(extra)) * time.Millisecond, next: map[int]int64{}, end: time.Now().Add(secs())}
}

// add takes a record, but for those that come behind the limit; a placeholder has no key.
func (s *sink) add(p int, o int64, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done.IsZero() && s.extra == 0 {
		return false
	}
	if key == "" {
		key = "null"
	}
	fmt.Fprintln(s.w, p, o, key)
	s.next[p] = o + 1
	if key != "null" {
		s.n++
		if s.n == s.limit {
			s.done = time.Now().Add(s.extra)
		}
	}
	return true
}
func (s *sink) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done.IsZero() {
		return !time.Now().Before(s.done)
	}
	return time.Now().After(s.end)
}
func (s *sink) wait() {
	for !s.over() {
		time.Sleep(10 * time.Millisecond)
	}
}
func (s *sink) finish() { s.w.Flush() }
func main() {
	a := os.Args[2:]
	if os.Args[1] == "consume" {
		consume(a[0], a[1], a[2], newSink(a[3], a[4]))
	} else {
		produce(a[0], a[1], atoi(a[2]), a[3], atoi(a[4]), a[5] == "1")
	}
}
