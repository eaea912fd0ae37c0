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

// runGroup runs a program in a process group of its own. When the context of the command ends, it asks the whole group to stop. When the
// program has ended, it kills the rest of the group: nothing of a run outlives it. If the worker is killed, the group dies as well.
func runGroup(cmd *exec.Cmd) error {
	// The kernel kills the program when the thread that started it ends, so the thread must live as long as the program.
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
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the rest of the group
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // it has ended well, but a child still holds its outputs
	}
	return err
}

// guardScript reads its input. First comes the number of a process group, then the line "over". If the input ends between the two, the
// worker has died, and the script kills the group.
const guardScript = `trap '' HUP INT TERM
read -r group || exit 0
[ "$group" != over ] || exit 0
read -r word
[ "$word" = over ] || kill -s KILL -- "-$group"`

// guard is a process that slightly outlives this one. If this process is killed, the guard kills the program's process group. The kernel
// kills only the program itself, not its children.
type guard struct {
	process *exec.Cmd
	input   io.WriteCloser
}

// startGuard returns a guard that watches nothing yet; nil if there is no shell.
func startGuard() *guard {
	process := exec.Command("/bin/sh", "-c", guardScript)
	process.Env = []string{}
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a signal to the worker's group is not meant for the guard
	input, err := process.StdinPipe()
	if err != nil {
		return nil
	}
	if process.Start() != nil {
		return nil
	}
	return &guard{process, input}
}

// watch makes the guard watch a process group.
func (g *guard) watch(group int) {
	if g != nil {
		_, _ = io.WriteString(g.input, strconv.Itoa(group)+"\n") // it fails only if the guard is gone
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
