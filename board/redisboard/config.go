package redisboard

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/domain"
)

// Tenancy is how spaces are kept apart.
type Tenancy string

// The tenancies.
const (
	// TenancyDB keeps space N in Redis database N, as the sources' programs
	// expect. The server's setting databases must be greater than N.
	TenancyDB Tenancy = "db"
	// TenancyPrefix keeps space N > 0 under keys that begin with "ctx:<N>:" in
	// database 0: for servers with one database, and thousands of contexts.
	TenancyPrefix Tenancy = "prefix"
)

// Config is how to open a board. The zero Config is ready to use.
type Config struct {
	// Tenancy: the URL's parameter tenancy goes before it. Default: TenancyDB.
	Tenancy Tenancy
	// Logger hears about lost and found connections. Default: none.
	Logger *slog.Logger
	// Answer is how long an unresponsive server is waited for before calls end
	// with [domain.ErrUnavailable]. Default: 4s.
	Answer time.Duration
	// Poll is the pause between looks for what wake-ups have missed. It is
	// the last resort where keyspace events cannot be had. Default: 2s.
	Poll time.Duration
	// LeaveConfig keeps the server's notify-keyspace-events as it is. Then
	// changes by foreign programs are seen after Poll, unless it is set by hand.
	LeaveConfig bool
	// MayLose takes a server that throws keys away when its memory is full, with
	// a note about it. Default: it is refused.
	MayLose bool
}

func (c Config) filled() Config {
	c.Tenancy = cmp.Or(c.Tenancy, TenancyDB)
	c.Answer = cmp.Or(c.Answer, 4*time.Second)
	c.Poll = cmp.Or(c.Poll, 2*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// parse turns a URL into a client's options:
//
//	redis://[user:password@]host[:6379][/][?parameters]
//	rediss://…                           with TLS
//	unix://[user:password@]/path/to/redis.sock[?parameters]
//
// Parameters: tenancy=db|prefix; master=<name> (then hosts are Sentinels, more
// of them by addr=host:port).
//
// Errors: [domain.ErrInvalid].
func parse(text string, cfg *Config) (rueidis.ClientOption, error) {
	opt := rueidis.ClientOption{
		ForceSingleClient: true, // a cluster is refused with our own words
		DisableCache:      true,
		DisableRetry:      true, // our callers are told, and waiters wait themselves
		// One connection: the server acts in the order of our calls.
		PipelineMultiplex: -1,
		ConnWriteTimeout:  cfg.Answer,
		Dialer:            net.Dialer{Timeout: 2 * time.Second, KeepAlive: time.Second},
		ClientName:        "ramet",
	}
	u, query, err := domain.ParseURL(text, "addr")
	if err != nil {
		return opt, domain.Invalidf("redis URL %q: %v; want redis://host:6379", domain.HideURL(text), err)
	}
	switch u.Scheme {
	case "redis", "valkey":
	case "rediss", "valkeys":
		opt.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}
	case "unix":
		opt.InitAddress = []string{u.Path}
		opt.DialCtxFn = func(ctx context.Context, path string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		}
	default:
		return opt, domain.Invalidf("redis URL %q: want redis://, rediss:// or unix://", domain.HideURL(text))
	}
	if opt.InitAddress == nil {
		if strings.Trim(u.Path, "/") != "" && u.Path != "/0" {
			return opt, domain.Invalidf("redis URL %q names database %q: ramet uses database N for context N, so leave it out", domain.HideURL(text),
				strings.Trim(u.Path, "/"))
		}
		opt.InitAddress = []string{hostPort(u.Host)}
	}
	opt.Username = u.User.Username()
	opt.Password, _ = u.User.Password()
	return opt, parameters(query, &opt, cfg)
}

func parameters(q url.Values, opt *rueidis.ClientOption, cfg *Config) error {
	for name, values := range q {
		switch name {
		case "tenancy":
			cfg.Tenancy = Tenancy(values[0])
		case "master":
			opt.Sentinel = rueidis.SentinelOption{
				MasterSet: values[0], TLSConfig: opt.TLSConfig, Username: opt.Username, Password: opt.Password,
			}
			opt.ForceSingleClient = false
		case "addr":
			for _, a := range values {
				opt.InitAddress = append(opt.InitAddress, hostPort(a))
			}
		default:
			return domain.Invalidf("redis URL has parameter %q: want tenancy, master or addr", name)
		}
	}
	if cfg.Tenancy != TenancyDB && cfg.Tenancy != TenancyPrefix {
		return domain.Invalidf("tenancy %q: want db or prefix", cfg.Tenancy)
	}
	return nil
}

func hostPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(cmp.Or(strings.Trim(host, "[]"), "localhost"), "6379")
}
