// Package zonedata holds the time zone data by which this process reads schedules.
//
// The binary carries its own data, so that all hosts compute the same times. An operator may replace it with newer data from a
// file (Open, Use). The process never uses any other data: neither the data of the host nor the data that the ZONEINFO variable
// names.
//
// Data never changes. Use replaces the data of the whole process; call it when the program starts. The package imports nothing of
// ours.
package zonedata

//go:generate go run ./gen -out zones.zip
