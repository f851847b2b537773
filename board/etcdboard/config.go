package etcdboard

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/address"
	"github.com/ramet-run/ramet/internal/dialtls"
)

// Config is how to open a board. The zero Config is ready to use.
type Config struct {
	// Logger hears about lost and found connections. Default: none.
	Logger *slog.Logger
	// Answer is how long an unresponsive cluster is waited for before calls end
	// with [domain.ErrUnavailable]. Default: 5s, which an election fits into.
	Answer time.Duration
	// Passing says that the board is opened for a moment, by a command: its clock has no say in
	// what the board's time is. Where no other has, it goes by its own.
	Passing bool
	// Folder tells the data folder from all others, over all lives of its node: what the clock of
	// an earlier life said counts no more. At most one board that is not Passing is open with it.
	// Default: none, and a life that was killed is waited for.
	Folder string

	skew    time.Duration // of the node's clock, in tests
	silence time.Duration // in place of clockSilence, in tests
}

func (c Config) filled() Config {
	c.Answer = cmp.Or(c.Answer, 5*time.Second)
	c.silence = cmp.Or(c.silence, clockSilence)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// DefaultPrefix is where a board lies whose URL names no other place.
const DefaultPrefix = "ramet/"

// requestBytes is what etcd takes in a request, unless its --max-request-bytes
// is set. It tells nobody.
const (
	requestBytes = 1536 << 10
	requestName  = "max-request-bytes"
)

// window is how many bytes etcd may send that nobody has read yet.
const window = 4 << 20

// CheckURL refuses what Open would refuse of a URL before it calls anybody.
//
// Errors: [domain.ErrInvalid].
func CheckURL(text string) error {
	_, _, _, err := parse(text)
	return err
}

// parse turns a URL into a client's options, and the prefix of the board's keys:
//
//	etcd://[user:password@]host[:2379][,host[:2379]…][/prefix]
//	etcds://…[?ca=FILE&cert=FILE&key=FILE]     with TLS
//	…?max-request-bytes=8388608                where the servers are started so
//
// Errors: [domain.ErrInvalid].
func parse(text string) (opt clientv3.Config, prefix string, request int, err error) {
	u, hosts, query, err := address.ParseHosts(text)
	if err != nil {
		return opt, "", 0, domain.Invalidf("etcd URL %q: %v; want etcd://host:2379 or etcds://host:2379, more hosts after commas", domain.HideURL(text), err)
	}
	if u.Host == "" || u.Scheme != "etcd" && u.Scheme != "etcds" {
		return opt, "", 0, domain.Invalidf("etcd URL %q: want etcd://host:2379 or etcds://host:2379, more hosts after commas", domain.HideURL(text))
	}
	opt = clientv3.Config{
		Logger:               zap.NewNop(), // our own logger hears what matters
		DialKeepAliveTime:    2 * time.Second,
		DialKeepAliveTimeout: 2 * time.Second,
		// What is too large is for the server to say, in its words.
		MaxCallSendMsgSize: 64 << 20,
		// A window that grows as needed costs a ping for each message, and a node
		// hears of every transaction.
		DialOptions: []grpc.DialOption{grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window)},
	}
	request = requestBytes
	if query.Has(requestName) {
		if request, err = strconv.Atoi(query.Get(requestName)); err != nil || request < 64<<10 {
			return opt, "", 0, domain.Invalidf("etcd URL has %s=%s: want a number, 65536 or more", requestName, query.Get(requestName))
		}
		query.Del(requestName)
	}
	scheme := "http://"
	if u.Scheme == "etcds" {
		scheme = "https://"
		if opt.TLS, err = dialtls.FromURL(query); err != nil {
			return opt, "", 0, fmt.Errorf("etcd URL: %w", err)
		}
	}
	for name := range query {
		return opt, "", 0, domain.Invalidf("etcd URL has parameter %q: want %s, and with etcds:// ca, cert and key", name, requestName)
	}
	for _, host := range hosts {
		opt.Endpoints = append(opt.Endpoints, scheme+hostPort(host))
	}
	opt.Username = u.User.Username()
	opt.Password, _ = u.User.Password()
	if prefix = strings.Trim(u.Path, "/") + "/"; prefix == "/" {
		prefix = DefaultPrefix
	}
	return opt, prefix, request, nil
}

func hostPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(cmp.Or(strings.Trim(host, "[]"), "localhost"), "2379")
}
