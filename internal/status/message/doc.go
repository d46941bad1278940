// Package message composes an Echo's messages: first what is wrong, then what to do, and then the number of ready pods. Text from other
// components is in quotation marks, and is shortened if a message would be too long.
package message
