package child

import "syscall"

// attributes make a process end with this one, however that ends. The process has a group of its own, so that Ctrl-C
// reaches this process alone.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
