//go:build unix && !linux

package builtin

import "syscall"

// dieWithParent does nothing: this system cannot do it, so only the guard is left.
func dieWithParent(*syscall.SysProcAttr) {}
