package myceliumtest

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
)

var (
	errPeerExists = errors.New("peer exists")
	errNoPeer     = errors.New("no such peer")
)

type nodeInfo struct {
	Subnet string     `json:"nodeSubnet"`
	IP     netip.Addr `json:"nodeIp"`
	Pubkey string     `json:"nodePubkey"`
	Start  int64      `json:"nodeStartTime"`
}

type peerInfo struct {
	Endpoint struct {
		Proto string `json:"proto"`
		Addr  string `json:"socketAddr"`
	} `json:"endpoint"`
	Kind  string `json:"type"`
	State string `json:"connectionState"`
	Tx    int    `json:"txBytes"`
	Rx    int    `json:"rxBytes"`
}

type routeInfo struct {
	Subnet  string `json:"subnet"`
	NextHop string `json:"nextHop"`
	Metric  int    `json:"metric"`
	Seqno   int    `json:"seqno"`
}

func (d *Daemon) info() nodeInfo {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	info := nodeInfo{Subnet: d.prefix.String(), IP: d.address, Pubkey: d.key}
	if d.life != nil {
		info.Start = d.life.started.Unix()
	}
	return info
}

func (d *Daemon) getAdmin(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, d.info())
}

func (d *Daemon) peerInfos() []peerInfo {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	list := []peerInfo{}
	for _, p := range d.peers {
		info := peerInfo{Kind: "static", State: "connecting"}
		info.Endpoint.Proto, info.Endpoint.Addr = p.proto, p.addr
		if p.link != nil {
			info.State = "alive"
		}
		list = append(list, info)
	}
	return list
}

func (d *Daemon) getPeers(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, d.peerInfos())
}

func (d *Daemon) postPeer(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Endpoint *string `json:"endpoint"`
	}
	if !readInto(w, r, &body) {
		return
	}
	if body.Endpoint == nil {
		unreadable(w, shapeError("missing field `endpoint`"))
		return
	}
	peerDone(w, d.addPeer(*body.Endpoint))
}

func (d *Daemon) deletePeer(w http.ResponseWriter, r *http.Request) {
	peerDone(w, d.removePeer(r.PathValue("endpoint")))
}

func peerDone(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, errPeerExists):
		plain(w, http.StatusConflict, "A peer identified by that endpoint already exists")
	case errors.Is(err, errNoPeer):
		plain(w, http.StatusNotFound, "A peer identified by that endpoint does not exist")
	default:
		plain(w, http.StatusBadRequest, err.Error())
	}
}

// routes are to every daemon that can be reached.
func (d *Daemon) routes() []routeInfo {
	n := d.network
	n.mu.Lock()
	defer n.mu.Unlock()
	list := []routeInfo{}
	for _, other := range n.daemons {
		if other != d && other.running() && !n.cut[[2]*Daemon{d, other}] {
			list = append(list, routeInfo{Subnet: other.prefix.String(), NextHop: "in process", Metric: 1})
		}
	}
	for _, l := range d.links {
		list = append(list, routeInfo{Subnet: l.prefix.String(), NextHop: "TCP link", Metric: 1})
	}
	return list
}

func (d *Daemon) getRoutes(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, d.routes())
}

// pubkeyOf finds the key behind an address: the daemon's own, and those of
// daemons to which there is a way.
func (d *Daemon) pubkeyOf(a netip.Addr) (string, bool) {
	n := d.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if other := n.find(a); other != nil && !n.cut[[2]*Daemon{d, other}] {
		return other.key, true
	}
	for _, l := range d.links {
		if l.prefix == network64(a) {
			return l.key, true
		}
	}
	return "", false
}

func (d *Daemon) getPubkey(w http.ResponseWriter, r *http.Request) {
	a, ok := parseIP(r.PathValue("ip"))
	if !ok {
		plain(w, http.StatusBadRequest, "Invalid URL: invalid IP address syntax")
		return
	}
	key, ok := d.pubkeyOf(a)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	answer(w, http.StatusOK, map[string]string{"publicKey": key})
}

// topicOf is the topic in the path, which is base64.
func topicOf(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	topic, ok := decodeBase64(r.PathValue("topic"))
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
	}
	return topic, ok
}

// parseSubnet takes a::/64 and a single address.
func parseSubnet(s string) (netip.Prefix, bool) {
	if !strings.Contains(s, "/") {
		a, ok := parseIP(s)
		return netip.PrefixFrom(a, a.BitLen()), ok
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err == nil
}
