// The crawl on TiKV's client. TiKV has no observers, so a document is loaded with a mark in a durable
// queue, in the same transaction; a worker of this process hears of it at once, clusters it, and
// removes the mark in the transaction of the clustering. It is what a scanner would find after a
// crash, and stands for Percolator's notification.
//
//	d/<id>       the document        c/<id>   the representative of its cluster
//	q/<id>       the mark            k/<n>/<key>   the representative to which an n-th key leads
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/transaction"
)

const loadedTogether = 500

type crawl struct {
	store *tikv.KVStore
	// The records: id, three keys, address and contents, between tabs.
	documents []string
	// Documents before the crawl, and the number of the next new one.
	repository, next int
	cells            int
	working          int
	queue            chan int
	// A channel for each document that is being clustered, closed when it is.
	waiting sync.Map
	mutex   sync.Mutex
	commits []commit
}

type commit struct {
	timestamp uint64
	document  int
}

// load writes the repository as the crawl would have left it.
func (c *crawl) load(clusters, keys []string) {
	c.repository, c.next = len(clusters), len(clusters)
	put := func(count int, set func(txn *transaction.KVTxn, n int)) {
		for first := 0; first < count; first += loadedTogether {
			c.transact(func(txn *transaction.KVTxn) {
				for n := first; n < min(count, first+loadedTogether); n++ {
					set(txn, n)
				}
			})
		}
	}
	put(len(clusters), func(txn *transaction.KVTxn, n int) {
		id, record := c.document(n)
		must(txn.Set([]byte("d/"+id), []byte(record)))
		must(txn.Set([]byte("c/"+id), []byte(clusters[n])))
	})
	put(len(keys), func(txn *transaction.KVTxn, n int) {
		key, representative, _ := strings.Cut(keys[n], "\t")
		must(txn.Set([]byte("k/"+key), []byte(representative)))
	})
}

func (c *crawl) document(n int) (id, record string) {
	id, record, _ = strings.Cut(c.documents[n], "\t")
	return id, record
}

// work starts workers, until there are as many as asked for.
func (c *crawl) work(workers int) {
	if c.queue == nil {
		c.queue = make(chan int, 1<<16)
	}
	for ; c.working < workers; c.working++ {
		go func() {
			for n := range c.queue {
				c.cluster(n)
			}
		}()
	}
}

// one loads a document, and returns when it is clustered.
func (c *crawl) one(n int) {
	clustered := make(chan struct{})
	c.waiting.Store(n, clustered)
	id, record := c.document(n)
	c.transact(func(txn *transaction.KVTxn) {
		must(txn.Set([]byte("d/"+id), []byte(record)))
		must(txn.Set([]byte("q/"+id), []byte{1}))
	})
	c.queue <- n
	<-clustered
}

// cluster does what the observer does (../../crawl-rate/percolator/tables.ts).
func (c *crawl) cluster(n int) {
	id, _ := c.document(n)
	timestamp := c.transact(func(txn *transaction.KVTxn) {
		keys := strings.SplitN(string(get(txn, "d/"+id)), "\t", 4)[:3]
		representative, missed := lookUp(txn, keys)
		if representative == "" {
			representative = id
		}
		for _, cell := range missed {
			must(txn.Set([]byte(cell), []byte(representative)))
		}
		must(txn.Set([]byte("c/"+id), []byte(representative)))
		must(txn.Delete([]byte("q/" + id)))
	})
	c.mutex.Lock()
	c.commits = append(c.commits, commit{timestamp, n})
	c.mutex.Unlock()
	clustered, _ := c.waiting.LoadAndDelete(n)
	close(clustered.(chan struct{}))
}

// lookUp returns the representative to which the first known key leads, and the keys before it.
func lookUp(txn *transaction.KVTxn, keys []string) (representative string, missed []string) {
	for i, key := range keys {
		cell := fmt.Sprintf("k/%d/%s", i+1, key)
		if found := get(txn, cell); found != nil {
			return string(found), missed
		}
		missed = append(missed, cell)
	}
	return "", missed
}

func get(txn *transaction.KVTxn, key string) []byte {
	value, err := txn.Get(context.Background(), []byte(key))
	if tikverr.IsErrNotFound(err) {
		return nil
	}
	must(err)
	return value
}

// transact runs the body until it commits, and returns the commit timestamp.
func (c *crawl) transact(body func(*transaction.KVTxn)) uint64 {
	for {
		txn, err := c.store.Begin()
		must(err)
		body(txn)
		var told struct {
			CommitTimestamp uint64 `json:"commit_ts"`
		}
		txn.SetCommitCallback(func(info string, err error) {
			must(json.Unmarshal([]byte(info), &told))
		})
		err = txn.Commit(context.Background())
		if err == nil {
			return told.CommitTimestamp
		}
		if !tikverr.IsErrWriteConflict(err) {
			panic(err)
		}
	}
}

// write writes the partition as the store has it: the repository, then the new documents in the
// order of their commits.
func (c *crawl) write(file string) {
	slices.SortFunc(c.commits, func(a, b commit) int { return int(a.timestamp) - int(b.timestamp) })
	out, err := os.Create(file)
	must(err)
	lines := bufio.NewWriter(out)
	txn, err := c.store.Begin()
	must(err)
	for n := range c.repository {
		c.writeLine(lines, txn, n)
	}
	for _, commit := range c.commits {
		c.writeLine(lines, txn, commit.document)
	}
	must(lines.Flush())
	must(out.Close())
}

func (c *crawl) writeLine(out *bufio.Writer, txn *transaction.KVTxn, n int) {
	id, _ := c.document(n)
	fmt.Fprintf(out, "%s\t%s\n", id, get(txn, "c/"+id))
}
