package jail

import "sync"

// Lazy is a jail that opens at its first use.
type Lazy struct {
	// Given is a jail that belongs to someone else. Default: one of its own,
	// with Config.
	Given  *Jail
	Config Config

	mu   sync.Mutex // guards what follows
	jail *Jail
}

// Get returns the jail.
//
// Errors: as [Open]; a later call tries again.
func (l *Lazy) Get() (*Jail, error) {
	if l.Given != nil {
		return l.Given, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jail == nil {
		jail, err := Open(l.Config)
		if err != nil {
			return nil, err
		}
		l.jail = jail
	}
	return l.jail, nil
}

// Close closes the jail if it was opened here.
func (l *Lazy) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jail == nil {
		return nil
	}
	jail := l.jail
	l.jail = nil
	return jail.Close()
}
