package chaos

import (
	"os/exec"
	"runtime"
)

// launcher starts processes. On Linux, a process that is to end with its parent ends with the thread that has started it;
// so all are started by one goroutine that keeps its thread until the end.
type launcher struct {
	jobs chan func()
	done chan struct{}
}

func newLauncher() *launcher {
	l := &launcher{jobs: make(chan func()), done: make(chan struct{})}
	go l.run()
	return l
}

func (l *launcher) run() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	defer close(l.done)
	for job := range l.jobs {
		job()
	}
}

// start starts a command. It is safe for concurrent use, until close.
func (l *launcher) start(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	l.jobs <- func() { result <- cmd.Start() }
	return <-result
}

// close ends the launcher, and on Linux with it every process it has started.
func (l *launcher) close() {
	close(l.jobs)
	<-l.done
}
