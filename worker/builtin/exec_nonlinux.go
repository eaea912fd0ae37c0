//go:build unix && !linux

package builtin

import "syscall"

// dieWithParent does nothing: there is no such thing here, and the guard has to do.
func dieWithParent(*syscall.SysProcAttr) {}
