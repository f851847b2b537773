package main

import (
	"net"
	"net/netip"

	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/door/console"
	"github.com/ramet-run/ramet/door/http"
)

// consoleAt is where the console is on a node that listens nowhere else over TCP, if
// nobody has the port; else it is at a port that is free. `ramet console` knows.
const consoleAt = "127.0.0.1:7481"

// listenForConsole finds how browsers of this machine reach the node. Where --listen is
// not given, the door listens on the loopback, which nobody else's machine reaches, and
// where every request needs a session or a token as anywhere.
func (p *parts) listenForConsole(o cli.ServeOptions, listeners *[]net.Listener) (shown string, err error) {
	if o.Listen == cli.ListenNone {
		return "", nil
	}
	scheme := "http"
	if o.Listen == "" {
		ln, err := http.ListenTCP(consoleAt, "", "")
		if err != nil {
			ln, err = http.ListenTCP("127.0.0.1:0", "", "")
		}
		if err != nil {
			p.log.Warn("there is no console: nothing can be listened to on the loopback; --listen names another address, --listen none says that none is "+
				"wanted", "err", err)
			return "", nil
		}
		*listeners = append(*listeners, ln)
	} else if o.TLSCert != "" {
		scheme = "https"
	}
	p.address = scheme + "://" + fromHere((*listeners)[len(*listeners)-1].Addr().String())
	return p.address + console.Path, nil
}

// fromHere is an address as a browser of this machine names it: one that stands for all
// addresses becomes the loopback.
func fromHere(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsUnspecified() {
		return address
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
}
