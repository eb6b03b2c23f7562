--[[
admin/tell_news.lua - tell processes something that they would otherwise learn only when they renew their leases.

Each process that listens blocks on its own list. A list that no process reads is forgotten after a while; the next renewal
tells the same.

KEYS
  1  news  base  lists that processes block on
ARGV
  1  text     pushed to each
  2  kept_s   seconds after which news that no process takes are forgotten
  3.. tokens of managers and processes
REPLY       { 0 }
REASONS     none
INVARIANTS  4 bounded scripts
COST        O(tokens given)
USES        news
]]
for position = 3, #ARGV do push_news(KEYS[1], ARGV[position], ARGV[1], ARGV[2]) end
return { 0 }
