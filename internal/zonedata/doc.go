// Package zonedata holds the time zone data by which this process reads schedules.
//
// The binary carries its own data, so that all hosts work out the same times. An operator may replace it with newer data in a
// file (Open, Use). No other data is ever used: neither that of the host nor that which the ZONEINFO variable names.
//
// Data never changes. Use replaces the data of the whole process; it belongs to the beginning of a program. The package imports
// nothing of ours.
package zonedata

//go:generate go run ./gen -out zones.zip
