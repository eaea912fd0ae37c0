//go:build unix

package builtin

import (
	"errors"
	"io"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// runGroup runs a program in a process group of its own, asks all of that to stop when the context of the command ends, and
// kills what is left when the program has ended: nothing of a run outlives it. A worker that is killed takes the group along.
func runGroup(cmd *exec.Cmd) error {
	// The kernel kills the program when the thread ends that has started it, so the thread must not end before the program.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	g := startGuard()
	defer g.end()
	if err := cmd.Start(); err != nil {
		return err
	}
	g.watch(cmd.Process.Pid)
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // nobody may be left
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // it has ended well, and left somebody behind with its outputs
	}
	return err
}

// guardScript waits for the end of its input. If that comes after the number of a process group and before the line "over", the
// worker has died, and the group is killed.
const guardScript = `trap '' HUP INT TERM
read -r group || exit 0
[ "$group" != over ] || exit 0
read -r word
[ "$word" = over ] || kill -s KILL -- "-$group"`

// guard is a process that outlives this one by a moment, to kill a process group should this process be killed. The kernel kills
// the program alone, which leaves what it has started.
type guard struct {
	process *exec.Cmd
	input   io.WriteCloser
}

// startGuard returns a guard that watches over nothing yet; nil where there is no shell.
func startGuard() *guard {
	process := exec.Command("/bin/sh", "-c", guardScript)
	process.Env = []string{}
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // whoever signals the group of the worker does not mean the guard
	input, err := process.StdinPipe()
	if err != nil {
		return nil
	}
	if process.Start() != nil {
		return nil
	}
	return &guard{process, input}
}

// watch begins to watch over a process group.
func (g *guard) watch(group int) {
	if g != nil {
		_, _ = io.WriteString(g.input, strconv.Itoa(group)+"\n") // a guard that is gone guards nothing
	}
}

// end dismisses the guard.
func (g *guard) end() {
	if g == nil {
		return
	}
	_, _ = io.WriteString(g.input, "over\n")
	_ = g.input.Close()
	_ = g.process.Wait() // its status says nothing
}
