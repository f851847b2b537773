package sqleffect_test

import (
	"bytes"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/internal/testport"
)

// proxy stands between a provider and its server: it sees which commands are
// asked for, and can hold up what is said and be away.
type proxy struct {
	t             testing.TB
	addr          string
	network, real string

	mu      sync.Mutex
	listen  net.Listener
	conns   map[net.Conn]bool
	asked   map[string]int
	hold    chan struct{} // closed by release
	after   bool          // hold the answer to a commit, else what begins a transaction
	arrived chan struct{}
}

func newProxy(t testing.TB, network, real string) *proxy {
	p := &proxy{t: t, addr: testport.Free(t), network: network, real: real, conns: map[net.Conn]bool{}, asked: map[string]int{}}
	p.start()
	t.Cleanup(p.stop)
	return p
}

func (p *proxy) start() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.listen = l
	p.mu.Unlock()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
}

func (p *proxy) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listen.Close()
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial(p.network, p.real)
	if err != nil {
		client.Close()
		return
	}
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	l := &link{p: p, client: client, server: server}
	go l.answers()
	l.questions()
	client.Close()
	server.Close()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}

// link is one connection.
type link struct {
	p              *proxy
	client, server net.Conn
	tail           []byte
	seen           map[string]bool // commands within the transaction
	mu             sync.Mutex
	held           chan struct{} // what answers wait for
}

var commandID = regexp.MustCompile(`018f5b1e-0000-7000-8000-[0-9a-f]{12}`)

func (l *link) questions() {
	b := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(b)
		if n > 0 {
			l.look(b[:n])
			if _, err := l.server.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// look counts commands, and waits where it is told to.
func (l *link) look(b []byte) {
	text := strings.ToLower(string(b))
	begin := strings.Contains(text, "begin") || strings.Contains(text, "start transaction")
	if begin {
		l.seen, l.tail = map[string]bool{}, nil
	}
	all := append(l.tail, b...)
	p := l.p
	p.mu.Lock()
	for _, id := range commandID.FindAll(all, -1) {
		if !l.seen[string(id)] && l.seen != nil {
			l.seen[string(id)] = true
			p.asked[string(id)]++
		}
	}
	hold, after, arrived := p.hold, p.after, p.arrived
	p.mu.Unlock()
	l.tail = bytes.Clone(all[max(0, len(all)-len("018f5b1e-0000-7000-8000-000000000000")+1):])
	switch {
	case hold == nil:
	case after && strings.Contains(text, "commit"):
		l.mu.Lock()
		l.held = hold
		l.mu.Unlock()
		arrived <- struct{}{}
	case !after && begin:
		arrived <- struct{}{}
		<-hold
	}
}

func (l *link) answers() {
	defer l.client.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(b)
		l.mu.Lock()
		held := l.held
		l.held = nil
		l.mu.Unlock()
		if held != nil {
			<-held
		}
		if n > 0 {
			if _, err := l.client.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) Asked(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if key != "" {
		return p.asked[key]
	}
	n := 0
	for _, m := range p.asked {
		n += m
	}
	return n
}

func (p *proxy) Hang(applied bool) (<-chan struct{}, func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hold := make(chan struct{})
	p.hold, p.after, p.arrived = hold, applied, make(chan struct{}, 100)
	var once sync.Once
	return p.arrived, func() {
		once.Do(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			close(hold)
			p.hold = nil
		})
	}
}

func (p *proxy) Away() func() {
	p.stop()
	return p.start
}
