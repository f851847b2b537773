package scripttest

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Why a level does not hold connections.
const (
	openSocket    = "open cannot hold back who knows a socket's path: its cookie does, and at walled the path is not there"
	walledNetwork = "walled leaves the machine's network; sealed does not"
)

// socketAttempts are about connections.
var socketAttempts = []attempt{
	{name: "connect to the node's socket", open: openSocket, try: func(w *world) error { return dial("unix", w.Socket) }},
	{name: "connect to an abstract socket", open: openSocket, try: func(w *world) error { return dial("unix", w.Abstract) }},
	{name: "connect to the node's port", walled: walledNetwork, try: func(w *world) error {
		return dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(w.Port)))
	}},
	{name: "send to a name server", walled: walledNetwork, try: func(*world) error {
		conn, err := net.Dial("udp", "192.0.2.1:53") // of the addresses for examples: nobody is there
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write([]byte("x"))
		return err
	}},
	{name: "open a raw socket", openRoot: "open leaves root the rights that container engines leave",
		try: socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
	{name: "open a packet socket", try: socket(unix.AF_PACKET, unix.SOCK_RAW, 0)},
	{name: "open a socket to the machine's host", try: socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
	{name: "open a socket to the kernel's ciphers", try: socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
	{name: "open a socket to the kernel's keys", try: socket(unix.AF_KEY, unix.SOCK_RAW, 2)},
	{name: "open a socket of a rare kind", try: func(w *world) error {
		for _, family := range rareFamilies {
			for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
				if err := socket(family, kind, 0)(w); errors.As(err, new(through)) {
					return err
				}
			}
		}
		return unix.EAFNOSUPPORT
	}},
	// The kernel makes the two before it asks whether the family has pairs at all.
	{name: "open a pair of sockets of a rare kind", try: func(*world) error {
		for _, family := range append([]int{unix.AF_PACKET, unix.AF_VSOCK, unix.AF_ALG, unix.AF_KEY}, rareFamilies...) {
			for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
				var pair [2]int32
				_, _, errno := unix.RawSyscall6(unix.SYS_SOCKETPAIR, uintptr(family), uintptr(kind|unix.SOCK_CLOEXEC), 0, uintptr(unsafe.Pointer(&pair)), 0, 0)
				if err := refused(errno); errors.As(err, new(through)) {
					return fmt.Errorf("family %d: %w", family, err)
				}
			}
		}
		return unix.EAFNOSUPPORT
	}},
}

// rareFamilies are kinds of sockets that hardly any program has a use for.
var rareFamilies = []int{unix.AF_RDS, unix.AF_TIPC, unix.AF_BLUETOOTH, unix.AF_NFC, unix.AF_CAN, unix.AF_XDP, unix.AF_SMC, unix.AF_PPPOX, unix.AF_LLC,
	unix.AF_APPLETALK, unix.AF_AX25}

func dial(network, address string) error {
	conn, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return err
	}
	conn.Close()
	return through("connected to " + address)
}

func socket(family, kind, protocol int) func(*world) error {
	return func(*world) error {
		fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
		if err != nil {
			return err
		}
		unix.Close(fd)
		return through("family " + strconv.Itoa(family))
	}
}
