package main

import (
	"context"
	"net"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/door/resp"
)

// This file opens the Redis door, where it is asked for.

// socketPrefix begins an address that is the path of a local socket.
const socketPrefix = "unix:"

// checkRESP checks an address for the Redis door.
//
// Errors: [domain.ErrInvalid].
func checkRESP(address string) error {
	if path, local := strings.CutPrefix(address, socketPrefix); local {
		if path == "" {
			return domain.Invalidf("resp %q: want a path behind unix:, for example unix:/run/ramet/redis.sock", address)
		}
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if address != "" && err != nil {
		return domain.Invalidf("resp %q: want host:port, :port or unix:PATH, for example :6379", domain.HideURL(address))
	}
	return nil
}

// openRESP listens for clients of Redis, if the node is to, and has them served
// while it runs. It returns where.
func (p *parts) openRESP(cert, key string) (address string, err error) {
	if p.resp == "" {
		return "", nil
	}
	var ln net.Listener
	if path, local := strings.CutPrefix(p.resp, socketPrefix); local {
		ln, err = http.ListenSocket(path, p.log, nil)
	} else {
		ln, err = http.ListenTCP(p.resp, cert, key)
	}
	if err != nil {
		return "", err
	}
	door := resp.New(resp.Config{Board: p.board, Access: p.access, Node: p.node.Name(), Tokens: p.tokens, Version: version, Cookie: p.cookie, Budget: p.budget,
		Writable: p.writable, Intake: p.disk.Intake, Room: p.node.Work.Admit, Logger: p.log, Audit: p.audit,
		NamedCallers: p.forCircles.named(), ReplyExpiry: p.forCircles.ReplyExpiry,
		Answered: p.node.Metrics.RESPAnswered})
	p.node.Metrics.CountRESP(door.Counts)
	p.services = append(p.services, func(ctx context.Context) error { return door.Serve(ctx, ln) })
	return ln.Addr().String(), nil
}
