//go:build unix

package builtin

import (
	"errors"
	"os/exec"
	"syscall"
)

// runGroup runs a program in a process group of its own, asks all of that to stop when the context of the command ends, and
// kills what is left when the program has ended: nothing of a run outlives it.
func runGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return err
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // nobody may be left
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // it has ended well, and left somebody behind with its outputs
	}
	return err
}
