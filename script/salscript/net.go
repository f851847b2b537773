package salscript

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// checkTime bounds one look at the network.
const checkTime = 10 * time.Second

func (h *host) netFunctions() []function {
	return []function{
		{"tcp_check", h.tcpCheck}, {"tcp_ping", h.tcpPing}, {"http_check", h.httpCheck}, {"http_status", h.httpStatus},
		{"ssh_execute", h.sshExecute}, {"ssh_execute_output", h.sshOutput}, {"ssh_ping", h.sshPing},
	}
}

func (h *host) dial(host string, port int64) error {
	ctx, cancel := context.WithTimeout(h.ctx, checkTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.FormatInt(port, 10)))
	if err == nil {
		conn.Close()
	}
	return err
}

// tcpCheck tells whether something listens there.
func (h *host) tcpCheck(host string, port int64) (bool, error) {
	if port < 1 || port > 65535 {
		return false, fmt.Errorf("tcp_check: port %d: want 1 to 65535", port)
	}
	return h.dial(host, port) == nil, nil
}

// tcpPing tells whether a machine answers at all: a refusal is an answer.
func (h *host) tcpPing(host string) bool {
	for _, port := range []int64{443, 80, 22} {
		if err := h.dial(host, port); err == nil || errors.Is(err, syscall.ECONNREFUSED) {
			return true
		}
	}
	return false
}

// httpStatus gives the status of a GET, redirects followed.
func (h *host) httpStatus(address string) (int, error) {
	if err := webAddress(address); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(h.ctx, checkTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, errors.New("http_status: the address cannot be used")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("http_status: %w", bare(err))
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}

// httpCheck tells whether the status is 2xx; not to be reached is false.
func (h *host) httpCheck(address string) (bool, error) {
	if err := webAddress(address); err != nil {
		return false, err
	}
	status, err := h.httpStatus(address)
	return err == nil && status/100 == 2, nil
}

// webAddress refuses what is no http(s) URL.
func webAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("the address is no URL such as https://host/path")
	}
	return nil
}

// bare takes the address out of an error: it may carry a password or a token.
func bare(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// ssh runs cmd as user on host.
func (h *host) ssh(host, user, cmd string) (*commandResult, error) {
	if host == "" || user == "" || strings.HasPrefix(host, "-") || strings.HasPrefix(user, "-") || strings.ContainsAny(user+host, "@ \t\n") {
		return nil, fmt.Errorf("ssh: user %q and host %q: want names", user, host)
	}
	return h.tool("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", user+"@"+host, cmd)
}

func (h *host) sshExecute(host, user, cmd string) (int, error) {
	result, err := h.ssh(host, user, cmd)
	if err != nil {
		return 0, err
	}
	return result.code, nil
}

func (h *host) sshOutput(host, user, cmd string) (string, error) {
	result, err := h.ssh(host, user, cmd)
	if err != nil {
		return "", err
	}
	return result.stdout, nil
}

func (h *host) sshPing(host, user string) (bool, error) {
	result, err := h.ssh(host, user, "true")
	if err != nil {
		return false, err
	}
	return result.code == 0, nil
}
