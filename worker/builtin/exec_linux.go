package builtin

import "syscall"

// dieWithParent lets the kernel kill the process when the thread that starts it ends.
func dieWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
