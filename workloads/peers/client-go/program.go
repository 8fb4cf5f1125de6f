// A program of bench:peers (../program.ts describes its requests): the crawl of figure 7, and
// transactions of one cell, on TiKV's Go client.
//
// The client commits as Percolator does, by two phases with a primary lock. It runs on the store
// that it has for its own tests, mocktikv: versions of cells on goleveldb, in this process, in
// memory or in a folder without fsync. Neither a network nor the replicas of TiKV are part of it.
//
// usage: client-go DOCUMENTS CLUSTERS KEYS [FOLDER]
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pingcap/log"
	"github.com/tikv/client-go/v2/testutils"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/transaction"
	"go.uber.org/zap/zapcore"
)

type answer struct {
	Done        int       `json:"done"`
	Seconds     float64   `json:"seconds"`
	LatenciesUs []float64 `json:"latenciesUs,omitempty"`
}

func main() {
	log.SetLevel(zapcore.FatalLevel) // It logs to standard output, which is for answers.
	folder := ""
	if len(os.Args) > 4 {
		folder = os.Args[4]
	}
	c := &crawl{store: open(folder), documents: linesOf(os.Args[1])}
	requests := bufio.NewScanner(os.Stdin)
	for requests.Scan() {
		line, err := json.Marshal(c.do(requests.Text()))
		must(err)
		fmt.Println(string(line))
	}
}

func open(folder string) *tikv.KVStore {
	client, cluster, pd, err := testutils.NewMockTiKV(folder, nil)
	must(err)
	testutils.BootstrapWithSingleStore(cluster)
	store, err := tikv.NewTestTiKVStore(client, pd, nil, nil, 0)
	must(err)
	return store
}

func (c *crawl) do(request string) answer {
	verb, rest, _ := strings.Cut(request, " ")
	var count, callers int
	var seconds float64
	switch verb {
	case "load":
		c.load(linesOf(os.Args[2]), linesOf(os.Args[3]))
	case "crawl":
		scan(rest, &count, &callers, &seconds)
		return c.closed(count, callers, seconds)
	case "arrive":
		scan(rest, &count, &seconds)
		return c.arrive(count, seconds)
	case "partition":
		c.write(rest)
	case "cells":
		scan(rest, &count)
		c.loadCells(count)
	case "read":
		scan(rest, &callers, &seconds)
		return loop(callers, 1<<62, seconds, func(int) { c.readCell() })
	case "write":
		scan(rest, &callers, &seconds)
		return loop(callers, 1<<62, seconds, func(int) { c.writeCell() })
	default:
		panic("unknown request: " + request)
	}
	return answer{}
}

// closed clusters new documents in a closed loop.
func (c *crawl) closed(count, callers int, seconds float64) answer {
	c.work(callers)
	first := c.next
	done := loop(callers, count, seconds, func(n int) { c.one(first + n) })
	c.next += done.Done
	return done
}

// arrive clusters new documents that are due at equal intervals, whatever the store does; a latency
// counts from the moment at which a document was due.
func (c *crawl) arrive(count int, perSecond float64) answer {
	latencies := make([]float64, count)
	start := time.Now()
	var all sync.WaitGroup
	for i := range count {
		due := start.Add(time.Duration(float64(i) / perSecond * 1e9))
		time.Sleep(time.Until(due))
		all.Go(func() {
			c.one(c.next + i)
			latencies[i] = float64(time.Since(due).Nanoseconds()) / 1e3
		})
	}
	all.Wait()
	c.next += count
	return answer{Done: count, Seconds: time.Since(start).Seconds(), LatenciesUs: latencies}
}

// loop calls one(0), one(1), ... by several callers, until count calls have begun or the time is
// over.
func loop(callers, count int, seconds float64, one func(n int)) answer {
	var begun atomic.Int64
	start := time.Now()
	end := start.Add(time.Duration(seconds * 1e9))
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for time.Now().Before(end) {
				n := int(begun.Add(1)) - 1
				if n >= count {
					return
				}
				one(n)
			}
		})
	}
	all.Wait()
	return answer{Done: min(count, int(begun.Load())), Seconds: time.Since(start).Seconds()}
}

// Transactions of one cell.

var cellValue = []byte(strings.Repeat("a", 100))

func cellKey(n int) []byte { return fmt.Appendf(nil, "m/%010d", n) }

func (c *crawl) loadCells(count int) {
	c.cells = count
	for first := 0; first < count; first += loadedTogether {
		c.transact(func(txn *transaction.KVTxn) {
			for n := first; n < min(count, first+loadedTogether); n++ {
				must(txn.Set(cellKey(n), cellValue))
			}
		})
	}
}

func (c *crawl) readCell() {
	txn, err := c.store.Begin()
	must(err)
	value, err := txn.Get(context.Background(), cellKey(rand.IntN(c.cells)))
	must(err)
	if len(value) != len(cellValue) {
		panic("a read gave another value than the one written")
	}
}

func (c *crawl) writeCell() {
	key := cellKey(rand.IntN(c.cells))
	c.transact(func(txn *transaction.KVTxn) { must(txn.Set(key, cellValue)) })
}

// Small helpers.

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func scan(text string, into ...any) {
	_, err := fmt.Sscan(text, into...)
	must(err)
}

func linesOf(file string) []string {
	text, err := os.ReadFile(file)
	must(err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
