//go:build unix

package chaos

import (
	"os"
	"os/signal"
	"syscall"
)

// supported is why a run is not possible on this system; nil if it is.
var supported error

func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// fill tells a node that its storage is full, empty that it has room again.
func fill(p *os.Process) error { return p.Signal(syscall.SIGUSR1) }

func empty(p *os.Process) error { return p.Signal(syscall.SIGUSR2) }

// isFill tells the signal of fill from that of empty.
func isFill(s os.Signal) bool { return s == syscall.SIGUSR1 }

// fillSignals are the signals of fill and empty that this process receives, until stop is called.
func fillSignals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGUSR2)
	return c, func() { signal.Stop(c) }
}
