package alarm

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fileBell is a timerfd, which Go's poller watches.
type fileBell struct {
	file *os.File
	raw  syscall.RawConn
}

// newBell returns a bell, nil where there is none.
func newBell() bell {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil
	}
	return &fileBell{file, raw}
}

func (b *fileBell) set(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(d, 1)))}
	_ = b.raw.Control(func(fd uintptr) { _ = unix.TimerfdSettime(int(fd), 0, &spec, nil) })
}

func (b *fileBell) wait() bool {
	var count [8]byte
	_, err := b.file.Read(count[:])
	return err == nil
}

func (b *fileBell) close() { _ = b.file.Close() }
