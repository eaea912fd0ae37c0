// Package child starts processes that belong to this one: what they do is part of one run of this program, and none of them
// is to outlive it. The caller waits for each of them and tells it to end.
//
// It must not know what the processes are for. Only the packages that run installations of their own import it.
//
// The package imports nothing of Carillon.
package child

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Launcher starts processes. On Linux, a process that is to end with its parent ends with the thread that has started it;
// so all are started by one goroutine that keeps its thread until the end. It is safe for concurrent use, until Close.
type Launcher struct {
	jobs chan func()
	done chan struct{}
}

// NewLauncher returns a launcher. The caller closes it.
func NewLauncher() *Launcher {
	l := &Launcher{jobs: make(chan func()), done: make(chan struct{})}
	go l.run()
	return l
}

func (l *Launcher) run() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	defer close(l.done)
	for job := range l.jobs {
		job()
	}
}

// Start starts a command in a process group of its own where the system has them, so that Ctrl-C reaches this process alone.
// It sets the attributes and, unless there is one, the environment of the command.
func (l *Launcher) Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = attributes()
	if cmd.Env == nil {
		cmd.Env = Environment()
	}
	result := make(chan error, 1)
	l.jobs <- func() { result <- cmd.Start() }
	return <-result
}

// Close ends the launcher, and on Linux with it every process it has started.
func (l *Launcher) Close() {
	close(l.jobs)
	<-l.done
}

// Environment is that of this process without the settings of the program, which are meant for this process alone.
func Environment() []string {
	kept := []string{}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "CARILLON_") {
			kept = append(kept, variable)
		}
	}
	return kept
}
