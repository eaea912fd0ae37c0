package heap

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tick is how long a processor that marks memory goes without looking for what else there is to do.
const tick = 250 * time.Microsecond

// ticks is a file that becomes readable again and again (timerfd), and a goroutine that reads it.
type ticks struct {
	file    *os.File
	raw     syscall.RawConn
	reading sync.WaitGroup
}

// newTicks returns ticks that have not begun; nil, which never begin, if the system does not give them.
func newTicks() *ticks {
	t := openTicks()
	if t != nil {
		t.reading.Go(t.read)
	}
	return t
}

func openTicks() *ticks {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	t := &ticks{file: os.NewFile(uintptr(fd), "timerfd")}
	if t.raw, err = t.file.SyscallConn(); err != nil {
		_ = t.file.Close()
		return nil
	}
	return t
}

func (t *ticks) read() {
	var count [8]byte
	for {
		if _, err := t.file.Read(count[:]); err != nil {
			return
		}
	}
}

// during lets them come while a function is called.
func (t *ticks) during(call func()) {
	if t != nil {
		t.set(tick)
		defer t.set(0)
	}
	call()
}

// set lets them come at an interval, or no more at 0.
func (t *ticks) set(every time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(every)), Interval: unix.NsecToTimespec(int64(every))}
	_ = t.raw.Control(func(fd uintptr) { _ = unix.TimerfdSettime(int(fd), 0, &spec, nil) })
}

func (t *ticks) close() {
	if t == nil {
		return
	}
	_ = t.file.Close()
	t.reading.Wait()
}
