package redisboard

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/address"
	"github.com/ramet-run/ramet/internal/dialtls"
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

	skew time.Duration // of this machine's clock, in tests
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

// CheckURL refuses what Open would refuse of a URL before it calls anybody.
//
// Errors: [domain.ErrInvalid]; those of [domain.FileErrorf] for the files that it names.
func CheckURL(text string) error {
	cfg := Config{}.filled()
	_, err := parse(text, &cfg)
	return err
}

// parse turns a URL into a client's options:
//
//	redis://[user:password@]host[:6379][,host…][/][?parameters]
//	rediss://…                           with TLS
//	unix://[user:password@]/path/to/redis.sock[?parameters]
//
// valkey:// and valkeys:// are the same. Parameters: tenancy=db|prefix; with TLS
// ca, cert and key, PEM files as [dialtls.Config] has them; master=<name>, then the
// hosts are Sentinels, which are asked in turn where the primary of that name is,
// and sentinel_user and sentinel_password log in there: user and password, unless
// one of them is given.
//
// Errors: [domain.ErrInvalid], and those of [dialtls.Config].
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
	u, hosts, query, err := address.ParseHosts(text)
	if err != nil {
		return opt, domain.Invalidf("redis URL %q: %v; want redis://host:6379", domain.HideURL(text), err)
	}
	switch u.Scheme {
	case "redis", "valkey":
	case "rediss", "valkeys":
		if opt.TLSConfig, err = dialtls.FromURL(query); err != nil {
			return opt, fmt.Errorf("redis URL: %w", err)
		}
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
		for _, host := range hosts {
			opt.InitAddress = append(opt.InitAddress, hostPort(host))
		}
	}
	opt.Username = u.User.Username()
	opt.Password, _ = u.User.Password()
	return opt, parameters(query, &opt, cfg)
}

func parameters(q url.Values, opt *rueidis.ClientOption, cfg *Config) error {
	sentinel := rueidis.SentinelOption{MasterSet: q.Get("master"), TLSConfig: opt.TLSConfig, Username: opt.Username, Password: opt.Password}
	if q.Has("sentinel_user") || q.Has("sentinel_password") {
		sentinel.Username, sentinel.Password = q.Get("sentinel_user"), q.Get("sentinel_password")
	}
	for name, values := range q {
		switch name {
		case "tenancy":
			cfg.Tenancy = Tenancy(values[0])
		case "master", "sentinel_user", "sentinel_password":
		case "ca", "cert", "key":
			return domain.Invalidf("redis URL has parameter %q: that is for rediss://", name)
		default:
			return domain.Invalidf("redis URL has parameter %q: want tenancy, master, sentinel_user, sentinel_password, "+
				"and with rediss:// ca, cert and key", name)
		}
	}
	switch {
	case cfg.Tenancy != TenancyDB && cfg.Tenancy != TenancyPrefix:
		return domain.Invalidf("tenancy %q: want db or prefix", cfg.Tenancy)
	case sentinel.MasterSet != "":
		opt.Sentinel, opt.ForceSingleClient = sentinel, false
	case len(q) > 0 && (q.Has("master") || q.Has("sentinel_user") || q.Has("sentinel_password")):
		return domain.Invalidf("redis URL has parameters for Sentinels: want the name of their primary, too, as master=")
	case len(opt.InitAddress) > 1:
		return domain.Invalidf("redis URL has several hosts: these are Sentinels, and it wants the name of their primary as ?master=")
	}
	return nil
}

func hostPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(cmp.Or(strings.Trim(host, "[]"), "localhost"), "6379")
}
