// Package child starts processes that belong to this one: their work is part of one run of this program, and none of them must
// outlive it. The caller waits for each of them and tells it to end.
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

// Launcher starts processes. On Linux, a process that must end with its parent ends with the thread that started it. So one
// goroutine that keeps its thread until the end starts all of them. It is safe for concurrent use, until Close.
type Launcher struct {
	jobs chan func()
	done chan struct{}
}

// NewLauncher returns a launcher. The caller must close it.
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

// Start starts a command. If the system has process groups, the command has its own, so that Ctrl-C reaches only this process.
// Start sets the attributes of the command and, if it has none, its environment.
func (l *Launcher) Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = attributes()
	if cmd.Env == nil {
		cmd.Env = Environment()
	}
	result := make(chan error, 1)
	l.jobs <- func() { result <- cmd.Start() }
	return <-result
}

// Close ends the launcher. On Linux, that also ends every process that it has started.
func (l *Launcher) Close() {
	close(l.jobs)
	<-l.done
}

// Environment returns the environment of this process without the settings of the program, which are only for this process.
func Environment() []string {
	kept := []string{}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "CARILLON_") {
			kept = append(kept, variable)
		}
	}
	return kept
}
