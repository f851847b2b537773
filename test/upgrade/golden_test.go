package upgrade

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/ramet-run/ramet/format"
	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testwait"
)

var update = flag.Bool("update", false, "make the golden folders of this format anew")

// golden is where those of a format lie.
func golden(version int, name string) string {
	return filepath.Join("testdata", "golden", strconv.Itoa(version), name)
}

// TestGoldenFolder opens the data folder of each format, and lets all in it go on.
func TestGoldenFolder(t *testing.T) {
	if *update {
		n := &node{T: t, program: binaries.today, data: t.TempDir(), args: []string{"--name", "golden"}}
		populate(n, true)
		_ = n.end(syscall.SIGTERM)
		pack(t, n.data, golden(format.Ours.Newest(), "folder.tar.gz"))
	}
	for version := range format.Ours {
		t.Run(strconv.Itoa(version+1), func(t *testing.T) {
			n := &node{T: t, program: binaries.today, data: t.TempDir(), args: []string{"--config", "open.yaml"}}
			unpack(t, golden(version+1, "folder.tar.gz"), n.data)
			n.serve()
			goesOn(n, true)
			if err := n.end(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			text, err := os.ReadFile(filepath.Join(n.data, format.File))
			if err != nil || !strings.Contains(string(text), fmt.Sprintf(`"format":%d,`, format.Ours.Newest())) {
				t.Errorf("got %s, %v", text, err)
			}
		})
	}
}

// TestGoldenRedis does the same with what lay on a Redis board.
func TestGoldenRedis(t *testing.T) {
	if *update {
		server := redistest.Start(t)
		n := &node{T: t, program: binaries.today, data: t.TempDir(), args: []string{"--name", "golden", "--board", "redis://" + server.Addr()}}
		populate(n, false)
		_ = n.end(syscall.SIGTERM)
		pack(t, n.data, golden(format.Ours.Newest(), "redis-folder.tar.gz"))
		dump(t, server.Addr(), golden(format.Ours.Newest(), "redis.json.gz"))
	}
	for version := range format.Ours {
		t.Run(strconv.Itoa(version+1), func(t *testing.T) {
			server := redistest.Start(t)
			load(t, server.Addr(), golden(version+1, "redis.json.gz"))
			n := &node{T: t, program: binaries.today, data: t.TempDir(), args: []string{"--config", "open.yaml", "--accept-loss", "--board", "redis://" + server.Addr()}}
			unpack(t, golden(version+1, "redis-folder.tar.gz"), n.data)
			n.serve()
			goesOn(n, false)
		})
	}
}

// TestGoldenEtcd does the same with what lay on an etcd board.
func TestGoldenEtcd(t *testing.T) {
	if *update {
		server := etcdtest.Start(t)
		n := &node{T: t, program: binaries.today, data: t.TempDir(), args: []string{"--name", "golden", "--board", etcdtest.URL("", server)}}
		populate(n, false)
		_ = n.end(syscall.SIGTERM)
		pack(t, n.data, golden(format.Ours.Newest(), "etcd-folder.tar.gz"))
		dumpEtcd(t, server.Addr(), golden(format.Ours.Newest(), "etcd.json.gz"))
	}
	for version := range format.Ours {
		t.Run(strconv.Itoa(version+1), func(t *testing.T) {
			server := etcdtest.Start(t)
			loadEtcd(t, server.Addr(), golden(version+1, "etcd.json.gz"))
			n := &node{T: t, program: binaries.today, data: t.TempDir(), args: []string{"--config", "open.yaml", "--accept-loss", "--board", etcdtest.URL("", server)}}
			unpack(t, golden(version+1, "etcd-folder.tar.gz"), n.data)
			n.serve()
			goesOn(n, false)
		})
	}
}

// populate makes one of everything.
func populate(n *node, sagas bool) {
	n.serve()
	n.run("actor", "new", "--id", "12", "--file", filepath.Join(n.data, "bob.key"))
	n.run("context", "grant", "1", "12", "--role", "reader")
	n.run("blueprint", "apply", "blueprint.yaml", "simple.yaml")
	n.run("job", "submit", "done.sh")
	n.shows("^status +finished", "job", "show", "1")
	n.run("flow", "submit", "blueprint.yaml")
	n.shows("^standing +deciding$", "flow", "explain", "1")
	n.run("schedule", "create", "someday", "--blueprint", "simple", "--at", "2090-01-01T00:00:00Z")
	n.run("message", "send", "good morning", "--to", "1")
	n.run("ban", "type", "rhai", "--reason", "no Rhai today")
	if sagas {
		n.shows("walnut|job:1:1", "archive", "search", "walnut")
		n.run("saga", "apply", "order.yaml")
		n.run("event", "publish", "Placed", "--aggregate", "Order/7", "--payload", `{"pay": false}`)
		n.run("event", "publish", "Placed", "--aggregate", "Order/8", "--payload", `{"pay": true}`)
		n.shows("^7 +placed", "saga", "instances", "order")
		n.shows("^8 +paying", "saga", "instances", "order")
	}
	n.run("job", "submit", "later.sh", "--not-before", "20s")
	n.shows("good morning", "inbox")
}

// goesOn lets all of it go on.
func goesOn(n *node, sagas bool) {
	n.Helper()
	n.shows("finished", "job", "list", "--limit", "20")
	n.run("flow", "approve", "1", "look")
	n.shows("^status +finished", "flow", "show", "1")
	n.shows("someday", "schedule", "list")
	n.run("schedule", "trigger", "someday")
	n.shows("simple.* finished|finished.* simple", "flow", "list")
	n.shows("good morning", "inbox")
	n.shows("no Rhai today", "ban", "list")
	n.shows("^12 ", "actor", "list")
	n.shows("approved", "blueprint", "list")
	n.run("audit", "log", "verify")
	n.run("audit", "log", "verify", "--of-node")
	n.shows("grant +actor:12", "audit", "log")
	if sagas {
		n.shows("job:1:1", "archive", "search", "walnut")
		n.run("event", "publish", "Shipped", "--saga", "order", "--correlation", "7")
		n.shows("^7 +shipped +ended, succeeded", "saga", "instances", "order")
		n.shows("^8 +shipped +ended, succeeded", "saga", "instances", "order")
	}
	laterRuns(n)
}

// laterRuns waits until the job has run that waited for its time.
func laterRuns(n *node) {
	n.Helper()
	testwait.Until(n, "a job with the log later", func() bool {
		var list struct {
			Jobs []struct {
				ID int64 `json:"id"`
			} `json:"jobs"`
		}
		must(n.T, json.Unmarshal([]byte(n.run("job", "list", "-o", "json", "--limit", "50")), &list))
		for _, j := range list.Jobs {
			if out, err := n.try("job", "logs", strconv.FormatInt(j.ID, 10)); err == nil && strings.Contains(out, "later") {
				return true
			}
		}
		return false
	})
}

// pack writes a folder; what a start makes anew stays out.
func pack(t *testing.T, dir, file string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	out, err := os.Create(file)
	must(t, err)
	gz, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	must(t, err)
	w := tar.NewWriter(gz)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		head, err := tar.FileInfoHeader(info, "")
		if err != nil {
			return err
		}
		head.Name, head.Uname, head.Gname, head.Uid, head.Gid = filepath.ToSlash(name), "", "", 0, 0
		if err := w.WriteHeader(head); err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
	must(t, errors.Join(err, w.Close(), gz.Close(), out.Close()))
}

func unpack(t *testing.T, file, dir string) {
	t.Helper()
	in, err := os.Open(file)
	must(t, err)
	defer in.Close()
	gz, err := gzip.NewReader(in)
	must(t, err)
	for r := tar.NewReader(gz); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		path := filepath.Join(dir, filepath.FromSlash(head.Name))
		if head.Typeflag == tar.TypeDir {
			must(t, os.MkdirAll(path, 0o700))
			continue
		}
		text, err := io.ReadAll(r)
		must(t, err)
		must(t, os.WriteFile(path, text, head.FileInfo().Mode().Perm()))
	}
}

// record is a key of a Redis database.
type record struct {
	DB    int    `json:"db"`
	Key   string `json:"key"`
	Value []byte `json:"value"` // of DUMP
}

// dump writes all keys of a server. How long they have to live is left out: they are to be
// there whenever the test is run.
func dump(t *testing.T, addr, file string) {
	t.Helper()
	var all []record
	for db := range 16 {
		c := redis.NewClient(&redis.Options{Addr: addr, DB: db})
		keys, err := c.Keys(t.Context(), "*").Result()
		must(t, err)
		for _, key := range keys {
			value, err := c.Dump(t.Context(), key).Result()
			must(t, err)
			all = append(all, record{db, key, []byte(value)})
		}
		must(t, c.Close())
	}
	writeAll(t, file, all)
}

func load(t *testing.T, addr, file string) {
	t.Helper()
	for _, r := range readAll[record](t, file) {
		c := redis.NewClient(&redis.Options{Addr: addr, DB: r.DB})
		must(t, c.Restore(t.Context(), r.Key, 0, string(r.Value)).Err())
		must(t, c.Close())
	}
}

// pair is a key of an etcd.
type pair struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// dumpEtcd writes all keys of a server, without how long they have to live.
func dumpEtcd(t *testing.T, addr, file string) {
	t.Helper()
	found, err := etcdClient(t, addr).Get(t.Context(), "", clientv3.WithPrefix())
	must(t, err)
	var all []pair
	for _, kv := range found.Kvs {
		all = append(all, pair{kv.Key, kv.Value})
	}
	writeAll(t, file, all)
}

func loadEtcd(t *testing.T, addr, file string) {
	t.Helper()
	c := etcdClient(t, addr)
	for _, p := range readAll[pair](t, file) {
		_, err := c.Put(t.Context(), string(p.Key), string(p.Value))
		must(t, err)
	}
}

// writeAll writes a dump: a line of JSON for each key, compressed.
func writeAll[T any](t *testing.T, file string, all []T) {
	t.Helper()
	out, err := os.Create(file)
	must(t, err)
	gz := gzip.NewWriter(out)
	to := json.NewEncoder(gz)
	for _, one := range all {
		must(t, to.Encode(one))
	}
	must(t, errors.Join(gz.Close(), out.Close()))
}

func readAll[T any](t *testing.T, file string) (all []T) {
	t.Helper()
	in, err := os.Open(file)
	must(t, err)
	defer in.Close()
	gz, err := gzip.NewReader(in)
	must(t, err)
	for from := json.NewDecoder(gz); ; {
		var one T
		err := from.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		all = append(all, one)
	}
}

func etcdClient(t *testing.T, addr string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, DialTimeout: 30 * time.Second, Logger: zap.NewNop()})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
