package natsstream

import "github.com/ramet-run/ramet/domain"

// Damage is what is wrong with the files of the streams in a data folder.
func Damage(dir string) (texts []string, err error) {
	folder := Config{DataDir: dir}.folder()
	for _, name := range domain.StreamNames {
		s, err := checkFiles(folder, name, nil)
		if err != nil {
			return nil, err
		}
		texts = append(texts, s.texts()...)
	}
	return texts, nil
}

// Unwritable is what is told while the streams under a data folder cannot be written.
func Unwritable(dir string, err error) error {
	l := &Log{cfg: Config{DataDir: dir}}
	l.latched.Store(&err)
	return l.unwritable()
}

// EndPull ends a request for messages while its connection is taken from it, as when
// it breaks.
func (l *Log) EndPull() error {
	p, err := l.newPull(domain.AggregateEvents, "none", "")
	if err != nil {
		return err
	}
	closed := make(chan struct{})
	go func() { p.close(); close(closed) }()
	p.end()
	<-closed
	return nil
}

// Remade is why the streams take nothing more, without asking their server.
func (l *Log) Remade() error { return l.remade() }
