package builtin

import "syscall"

// dieWithParent makes the kernel kill the process when the thread that started it ends.
func dieWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
