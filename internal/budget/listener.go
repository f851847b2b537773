package budget

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Listener gives each connection that comes in a seat. Those that get none are
// told so and closed, and it goes on.
type Listener struct {
	net.Listener
	budget *Budget
	// refuse tells a connection why; it must not wait.
	refuse func(conn net.Conn, why error)

	mu    sync.Mutex
	seats map[net.Conn]*Seat
	spare *os.File // a descriptor kept for when there is no other
}

// Listen returns ln with seats. refuse writes to a connection why it is not
// served, in the door's protocol; its write deadline is set.
func (b *Budget) Listen(ln net.Listener, refuse func(conn net.Conn, why error)) *Listener {
	l := &Listener{Listener: ln, budget: b, refuse: refuse, seats: map[net.Conn]*Seat{}}
	l.keepSpare()
	return l
}

// Accept waits for a connection that there is room for. What the machine lacks for
// a while ends nothing: whoever takes it all (any program of the same user, a script
// too) would else end the door, and the node with it.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		switch {
		case err == nil:
		case outOfFiles(err):
			if conn = l.shed(); conn == nil {
				continue
			}
		case passing(err):
			l.budget.lost(err)
			time.Sleep(passingPause)
			continue
		default:
			return nil, err
		}
		seat, err := l.budget.Sit(conn)
		if err != nil {
			_ = conn.SetWriteDeadline(time.Now().Add(refuseTime))
			l.refuse(conn, err)
			conn.Close()
			continue
		}
		l.mu.Lock()
		l.seats[conn] = seat
		l.mu.Unlock()
		return conn, nil
	}
}

// refuseTime bounds the few bytes that a refused connection is sent: they fit
// into the socket's buffer.
const refuseTime = 100 * time.Millisecond

// Seat is the seat of a connection that was accepted.
func (l *Listener) Seat(conn net.Conn) *Seat {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seats[conn]
}

// Gone gives a connection's seat back.
func (l *Listener) Gone(conn net.Conn) {
	l.mu.Lock()
	seat := l.seats[conn]
	delete(l.seats, conn)
	l.mu.Unlock()
	if seat != nil {
		seat.Leave()
	}
}

// Close closes the listener; connections stay.
func (l *Listener) Close() error {
	l.dropSpare()
	return l.Listener.Close()
}

func outOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// passing tells whether an error is of one connection or of the machine, and not of
// the listener: a network that is away, memory, or ENOSPC where the kernel's list of
// what a user waits for (fs.epoll.max_user_watches) is full.
func passing(err error) bool {
	if _, isErrno := errors.AsType[syscall.Errno](err); !isErrno {
		return false
	}
	for _, ours := range []syscall.Errno{syscall.EBADF, syscall.EINVAL, syscall.ENOTSOCK, syscall.EFAULT} {
		if errors.Is(err, ours) {
			return false
		}
	}
	return true
}

// passingPause keeps the loop from taking a processor meanwhile.
const passingPause = 20 * time.Millisecond

// shed takes a connection with the spare descriptor. Where that was the last
// one it is closed: else it would wait in the kernel for as long as others have
// the descriptors, and so would the next. Nil is returned then.
func (l *Listener) shed() net.Conn {
	l.dropSpare()
	conn, err := l.Listener.Accept()
	if l.keepSpare() && err == nil {
		return conn // others have given some back meanwhile
	}
	l.budget.refuse(files, "all")
	if err == nil {
		conn.Close()
		l.keepSpare()
	}
	time.Sleep(shedPause)
	return nil
}

// shedPause keeps the loop from taking a processor while there are no
// descriptors.
const shedPause = 5 * time.Millisecond

// keepSpare reports whether there is a spare descriptor.
func (l *Listener) keepSpare() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spare == nil {
		l.spare, _ = os.Open(os.DevNull) // where there is none now, there may be at the next time
	}
	return l.spare != nil
}

func (l *Listener) dropSpare() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spare != nil {
		l.spare.Close()
		l.spare = nil
	}
}
