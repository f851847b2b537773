package budget

import (
	"cmp"
	"net/netip"

	"github.com/ramet-run/ramet/domain"
)

// Config are the bounds. A zero is a default, which goes by the machine.
type Config struct {
	// Connections are those over TCP, at all doors together. Default: the open
	// files that the process may have, less a quarter (at least 128) for the rest
	// of it; one for each 128 KiB of memory; 10,000 at most.
	Connections int `yaml:"connections"`
	// Strangers are those of them that have not signed in. Default: an eighth.
	Strangers int `yaml:"strangers"`
	// PerAddress are those of one address. Default: a quarter.
	PerAddress int `yaml:"connections_per_address"`
	// PerActor are those of one actor. Default: a quarter.
	PerActor int `yaml:"connections_per_actor"`
	// Local are those at local sockets. Default: 128.
	Local int `yaml:"local_connections"`
	// Refused is how many tokens of one address are looked at within a minute that
	// turn out not to be good. Default: 60.
	Refused int `yaml:"refused_per_address"`
	// Shared are networks that many callers share, as those of a load balancer:
	// PerAddress, Refused and the part of an address of what strangers hold are not for them.
	Shared []netip.Prefix `yaml:"shared_addresses"`

	// Requests are those in progress at the HTTP door. Default: 4,096, and a
	// quarter of that for one actor.
	Requests         int `yaml:"requests"`
	RequestsPerActor int `yaml:"requests_per_actor"`
	// Streams are those that follow something (SSE). Default: 1,024, and an eighth
	// of that for one actor.
	Streams         int `yaml:"streams"`
	StreamsPerActor int `yaml:"streams_per_actor"`
	// Subscriptions are channels and patterns at the Redis door. Default: 65,536,
	// and an eighth of that for one actor.
	Subscriptions         int `yaml:"subscriptions"`
	SubscriptionsPerActor int `yaml:"subscriptions_per_actor"`
	// Bytes are what large requests and answers hold. Default: an eighth of the
	// machine's memory, 64 MiB to 1 GiB, and a quarter of that for one actor.
	Bytes         int64 `yaml:"bytes"`
	BytesPerActor int64 `yaml:"bytes_per_actor"`
	// Stored are the bytes that clients of the Redis door keep in one context, under keys
	// of their own and as replies and messages that nobody has fetched or sent. Each node
	// looks for itself. Default: 256 MiB.
	Stored int64 `yaml:"stored_per_context"`
}

const (
	maxConnections = 10_000    // more than that is a matter of a load balancer and more nodes
	minConnections = 64        // fewer are no door
	connectionCost = 128 << 10 // bytes: buffers, goroutines, TLS
	minBytes       = 64 << 20
	maxBytes       = 1 << 30
	maxRefusals    = 1_000_000 // a minute
	// localPart is what the local socket has of requests, streams and bytes, on
	// top of what there is for TCP.
	localPart = 8
)

// Check refuses what cannot hold.
//
// Errors: [domain.ErrInvalid] naming the field.
func (c Config) Check() error {
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"connections", int64(c.Connections)}, {"strangers", int64(c.Strangers)}, {"connections_per_address", int64(c.PerAddress)},
		{"connections_per_actor", int64(c.PerActor)}, {"local_connections", int64(c.Local)}, {"requests", int64(c.Requests)},
		{"refused_per_address", int64(c.Refused)}, {"requests_per_actor", int64(c.RequestsPerActor)}, {"streams", int64(c.Streams)},
		{"streams_per_actor", int64(c.StreamsPerActor)},
		{"subscriptions", int64(c.Subscriptions)}, {"subscriptions_per_actor", int64(c.SubscriptionsPerActor)}, {"bytes", c.Bytes},
		{"bytes_per_actor", c.BytesPerActor}, {"stored_per_context", c.Stored},
	} {
		if f.n < 0 {
			return domain.Invalidf("doors.%s is %d, want a positive number, or 0 for the default", f.name, f.n)
		}
	}
	if c.Refused > maxRefusals {
		return domain.Invalidf("doors.refused_per_address is %d, want at most %d", c.Refused, maxRefusals)
	}
	if d := c.on(here()); d.Strangers >= d.Connections {
		return domain.Invalidf("doors.strangers is %d, want less than doors.connections, which is %d", d.Strangers, d.Connections)
	}
	if files := here().files; int64(c.Connections) > files {
		return domain.Invalidf("doors.connections is %d, but the process may open %d files; raise its limit (ulimit -n, LimitNOFILE=) first", c.Connections, files)
	}
	return nil
}

// host is what the defaults go by.
type host struct {
	files  int64 // that the process may open
	memory int64 // bytes
}

// on fills in the defaults for a machine.
func (c Config) on(h host) Config {
	room := min(h.files-max(h.files/4, 128), h.memory/connectionCost, maxConnections)
	c.Connections = cmp.Or(c.Connections, int(max(room, minConnections)))
	c.Strangers = cmp.Or(c.Strangers, max(c.Connections/8, 1))
	c.PerAddress = cmp.Or(c.PerAddress, max(c.Connections/4, 1))
	c.PerActor = cmp.Or(c.PerActor, max(c.Connections/4, 1))
	c.Local = cmp.Or(c.Local, 128)
	c.Refused = cmp.Or(c.Refused, 60)
	c.Requests = cmp.Or(c.Requests, 4096)
	c.RequestsPerActor = cmp.Or(c.RequestsPerActor, max(c.Requests/4, 1))
	c.Streams = cmp.Or(c.Streams, 1024)
	c.StreamsPerActor = cmp.Or(c.StreamsPerActor, max(c.Streams/8, 1))
	c.Subscriptions = cmp.Or(c.Subscriptions, 65_536)
	c.SubscriptionsPerActor = cmp.Or(c.SubscriptionsPerActor, max(c.Subscriptions/8, 1))
	c.Bytes = cmp.Or(c.Bytes, min(max(h.memory/8, minBytes), maxBytes))
	c.BytesPerActor = cmp.Or(c.BytesPerActor, max(c.Bytes/4, 1))
	c.Stored = cmp.Or(c.Stored, 256<<20)
	return c
}
