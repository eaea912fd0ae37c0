//go:build !linux

package child

import "syscall"

// attributes are the default: outside Linux, processes outlive this one if it is killed.
func attributes() *syscall.SysProcAttr { return nil }
