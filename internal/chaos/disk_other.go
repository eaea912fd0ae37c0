//go:build !linux

package chaos

import "errors"

// disk is a file system in memory, which exists on Linux only.
type disk struct{}

func mountDisk(string) (*disk, error) { return nil, errors.ErrUnsupported }

func (d *disk) fill() error { return errors.ErrUnsupported }
func (d *disk) free() error { return errors.ErrUnsupported }
func (d *disk) unmount()    {}
