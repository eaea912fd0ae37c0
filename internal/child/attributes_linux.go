package child

import "syscall"

// attributes make a process end with this one, however this one ends. The process has its own group, so that Ctrl-C reaches only
// this process.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
