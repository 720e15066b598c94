/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the prompt's commands print, on the run of cli_fake_run.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/commands/session.h"
#include "dbgcli/exit_status.h"
#include "tests/cli/cli_fake_run.h"
#include "tests/cli/cli_prompt.h"
#include "tests/cli/cli_rows.h"
#include "tests/cli/cli_unit.h"
#include <wetdbg/errors.h>

static void opening_shows_signal_line_and_frames(void **state)
{
    struct cli_prompt *f = *state;
    rewind(f->said.out.stream);
    assert_int_equal(cli_session_print_opening(&f->session), 0);
    fflush(f->said.out.stream);
    assert_string_equal(f->said.answer,
                        "/bin/prog: SIGSEGV (address not mapped: 0x10), 1000 instructions, "
                        "1 thread\n"
                        "util.c:30: return *p;?[31m\n"
                        "*#0  helper (x=-5) at util.c:30\n"
                        " #1  0x0000000000001045 in main () at main.c:14\n");
}

static void origin_shows_each_hop_and_how_chains_end(void **state)
{
    static const struct cli_row rows[] = {
        {"origin crash", 0,
         "SIGSEGV at util.c:30 in helper: 2 bytes in rax = 0x1234 (4660)\n"
         "#0   time 989          copied        main  main.c:14  | main line 14;  "
         "[0x7000 <storage> to rax] = 0x1234 (4660)\n"
         "#1   time 507          system call   foreign  libforeign.so  "
         "[byte 0 of the value: 0x7000 <storage>] = 0x34 (52)\n"
         "     came in by read(3, 0x7000, 100) = 12 from in.txt, offset 104 (byte 4 of 12)\n"
         "#2   time 1            computed      main  main.c:10  | main line 10;  "
         "[byte 1 of the value: 0x7000 <storage>] = 0x12 (18)\n"
         "     computed by 'inc'\n"},
        {"origin crash --limit 2", 0,
         "SIGSEGV at util.c:30 in helper: 2 bytes in rax = 0x1234 (4660)\n"
         "#0   time 989          copied        main  main.c:14  | main line 14;  "
         "[0x7000 <storage> to rax] = 0x1234 (4660)\n"
         "     ... 1 hops; --limit 0 shows all\n"
         "#2   time 1            computed      main  main.c:10  | main line 10;  "
         "[byte 1 of the value: 0x7000 <storage>] = 0x12 (18)\n"
         "     computed by 'inc'\n"},
        {"origin", 2,
         "origin: something is missing; usage: origin VARIABLE[@TIME]|*ADDRESS[+LEN][@TIME]|"
         "$REGISTER[@TIME]|output:... [--limit N]\n"},
        {"origin nothing", 1,
         "no variable 'nothing' is visible here, in helper (util.c:30, time 1001)\n"},
        {"origin crash@", 2,
         "'' is no time: a number, start, end, crash, now, output:OFFSET, FILE:LINE#K, FUNCTION#K "
         "or a "
         "bookmark\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void registers_of_avx512_are_there_where_the_processor_has_them(void **state)
{
    static const struct cli_row without[] = {
        {"print $k3", 3, "no mask register 3\n"},
        {"print $xmm16", 3, "no vector register 16\n"},
        {"print $zmm1", 3, "this processor has no AVX-512, and so no zmm1\n"},
        {"info registers zmm1", 3, "this processor has no AVX-512, and so no zmm1\n"},
        {"print $xmm32", 0, "$xmm32 = void\n"},
        {"print $k8", 0, "$k8 = void\n"},
    };
    static const struct cli_row with[] = {
        {"print $k3", 0, "$k3 = 9223372036854775813\n"},
        {"print/x $k7", 0, "$k7 = 0x7\n"},
        {"info registers k3", 0, "k3             0x8000000000000005  9223372036854775813\n"},
    };
    struct cli_prompt *f = *state;
    cli_rows_check(f, without, sizeof(without) / sizeof(*without));
    assert_int_equal(cli_prompt_execute(f, "info all-registers"), 0);
    assert_null(strstr(f->said.answer, "zmm"));
    assert_int_equal(cli_prompt_execute(f, "info registers ymm1"), 0);
    assert_non_null(strstr(f->said.answer, "v2_int128 = {0x11100f0e0d0c0b0a0908070605040302, "));
    fake_has_avx512 = true;
    cli_rows_check(f, with, sizeof(with) / sizeof(*with));
    assert_int_equal(cli_prompt_execute(f, "info registers zmm2"), 0);
    assert_non_null(strstr(f->said.answer, "v64_int8 = {0x4, 0x5, 0x6, "));
    assert_non_null(strstr(f->said.answer, "v4_int128 = {0x131211100f0e0d0c0b0a090807060504, "));
    assert_non_null(strstr(f->said.answer, ", 0x434241403f3e3d3c3b3a393837363534}}\n"));
    assert_int_equal(cli_prompt_execute(f, "info registers xmm31"), 0);
    assert_non_null(strstr(f->said.answer, "uint128 = 0x4d4c4b4a494847464544434241403f3e}\n"));
    assert_int_equal(cli_prompt_execute(f, "info registers ymm16"), 0);
    assert_non_null(strstr(f->said.answer, "v4_int64 = {0x2726252423222120, "));
    assert_non_null(strstr(f->said.answer, ", 0x3f3e3d3c3b3a39383736353433323130}}\n"));
    assert_int_equal(cli_prompt_execute(f, "info all-registers"), 0);
    assert_non_null(strstr(f->said.answer, "zmm31"));
    assert_non_null(strstr(f->said.answer, "k7"));
}

static void goto_understands_each_form_of_time(void **state)
{
    static const struct cli_row rows[] = {
        {"goto 1", 0, "time 1: main at main.c:10\n10\tmain line 10;\n"},
        {"goto start", 0, "time 1: main at main.c:10\n10\tmain line 10;\n"},
        {"goto main.c:12#2", 0, "time 11: main at main.c:12\n12\tmain line 12;\n"},
        {"goto main.c:12#-124", 0, "time 3: main at main.c:12\n12\tmain line 12;\n"},
        {"goto main.c:12", 0, "time 987: main at main.c:12\n12\tmain line 12;\n"},
        {"goto crash", 0, "time 1001: helper at util.c:30\n30\treturn *p;?[31m\n"},
        {"goto end", 0, "time 1001: helper at util.c:30\n30\treturn *p;?[31m\n"},
        {"goto 0", 1, "time 0 is outside the run (1 to 1001)\n"},
        {"goto 1002", 1, "time 1002 is outside the run (1 to 1001)\n"},
        {"goto main.c:12#125", 1, "main.c:12 has no instance #125: it ran 124 times\n"},
        {"goto main.c:12#0", 2, "'main.c:12#0': after '#' comes 1, 2, ... or -1, -2, ...\n"},
        {"goto main.c:99", 1, "no code at main.c:99; nearest: main.c:10\n"},
        {"goto other.c:1", 1, "no module knows a source file 'other.c'\n"},
        {"goto soon", 2,
         "'soon' is no time: a number, start, end, crash, now, output:OFFSET, FILE:LINE#K, "
         "FUNCTION#K or a "
         "bookmark\n"},
        {"goto :5", 2, "':5' is not of the form FILE:LINE\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void print_writes_values_as_gdb_does(void **state)
{
    static const struct cli_row rows[] = {
        {"print x", 0, "x = -5\n"},
        {"p/x x", 0, "x = 0xfffffffb\n"},
        {"p/u x", 0, "x = 4294967291\n"},
        {"p/t c", 0, "c = 1100001\n"},
        {"p/o c", 0, "c = 0141\n"},
        {"p c", 0, "c = 97 'a'\n"},
        {"p/d c", 0, "c = 97\n"},
        {"p p", 0, "p = (int *) 0x7000 <storage>\n"},
        {"p/a p", 0, "p = 0x7000 <storage>\n"},
        {"p *p", 0, "*p = -5\n"},
        {"p p[0]", 0, "p[0] = -5\n"},
        {"p &x", 0, "&x = (int *) 0x7000 <storage>\n"},
        {"p s", 0, "s = {first = -5, letter = 97 'a', low = 3, high = 5}\n"},
        {"p s.letter", 0, "s.letter = 97 'a'\n"},
        {"p (s).high", 0, "(s).high = 5\n"},
        {"p name", 0, "name = \"hello\\n\\000\"\n"},
        {"p name[1]", 0, "name[1] = 101 'e'\n"},
        {"p name[s.low]", 0, "name[s.low] = 108 'l'\n"},
        {"p text", 0, "text = 0x7010 <storage+16> \"hello\\n\"\n"},
        {"p *text", 0, "*text = 104 'h'\n"},
        {"p d", 0, "d = 0.10000000000000001\n"},
        {"p e", 0, "e = GREEN\n"},
        {"p --at=10 now", 0, "now = 10 '\\n'\n"},
        {"p --at 10 now", 0, "now = 10 '\\n'\n"},
        {"p now @ main.c:10#2", 0, "now = 9 '\\t'\n"},
        {"p/x $rax", 0, "$rax = 0x3e9\n"},
        {"p $rip", 0, "$rip = (void (*)()) 0x2000 <helper>\n"},
        {"p $eax", 0, "$eax = 1001\n"},
        {"p/x $al", 0, "$al = 0xe9\n"},
        {"p/x --at=3 $pc", 0, "$pc = 0x1020\n"},
        {"p 1 + 2 * 3", 0, "1 + 2 * 3 = 7\n"},
        {"p -x", 0, "-x = 5\n"},
        {"p/x ~0u >> 4", 0, "~0u >> 4 = 0xfffffff\n"},
        {"p x < 0 && c == 'a'", 0, "x < 0 && c == 'a' = 1\n"},
        {"p x > 0 && *(int *) 0", 0, "x > 0 && *(int *) 0 = 0\n"},
        {"p x > 0 ? 1 : p[0] - 1", 0, "x > 0 ? 1 : p[0] - 1 = -6\n"},
        {"p (char) 98", 0, "(char) 98 = 98 'b'\n"},
        {"p 7 / 2.0", 0, "7 / 2.0 = 3.5\n"},
        {"p p + 1", 0, "p + 1 = (int *) 0x7004 <storage+4>\n"},
        {"p sizeof(int) + sizeof x", 0, "sizeof(int) + sizeof x = 8\n"},
        {"p (*(struct pair *) p).low", 0, "(*(struct pair *) p).low = 3\n"},
        {"p {int} 0x7000", 0, "{int} 0x7000 = -5\n"},
        {"p helper", 0, "helper = {int (void)} 0x2000 <helper>\n"},
        {"p e == GREEN", 0, "e == GREEN = 1\n"},
        {"p 1 / 0", 2, "division by zero\n"},
        {"p x = 3", 2, "a recorded run cannot be changed\n"},
        {"p helper()", 2, "a recorded run can call no functions\n"},
        {"p nothing", 1,
         "no variable 'nothing' is visible here, in helper (util.c:30, time 1001)\n"},
        {"p $r99", 0, "$r99 = void\n"},
        {"p $r99 + 1", 2, "a value of type 'void' is no number\n"},
        {"p s.nothing", 1, "'struct pair' has no member 'nothing'\n"},
        {"p x.y", 2, "a value of type 'int' has no members\n"},
        {"p *x", 2, "a value of type 'int' points to nothing\n"},
        {"p p[500]", 5, "no memory at 0x77d0\n"},
        {"p x +", 2, "'x +' is no expression that print understands\n"},
        {"p (x", 2, "'(x' is no expression that print understands\n"},
        {"p/q x", 2, "unknown format '/q': /x /z /d /u /o /t /c /a /f /s\n"},
        {"p --at=2000 x", 1, "time 2000 is outside the run (1 to 1001)\n"},
        {"p", 0, "$ = void\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void values_have_numbers_and_names(void **state)
{
    static const struct cli_row rows[] = {
        {"p $", 1, "the history of values is empty: 'print' adds to it\n"},
        {"show values", 0, "the history of values is empty: 'print' adds to it\n"},
        {"p x", 0, "x = -5\n"},
        {"p s", 0, "s = {first = -5, letter = 97 'a', low = 3, high = 5}\n"},
        {"p $1 + $$", 0, "$1 + $$ = -10\n"},
        {"p $$2", 0, "$$2 = -5\n"},
        {"p $2.low", 0, "$2.low = 3\n"},
        {"p $9", 1, "the history of values has no $9 yet\n"},
        {"p $$9", 1, "the history of values does not go back to $$9: it has 5\n"},
        {"set $i = x + 7", 0, ""},
        {"p $i++ * 10", 0, "$i++ * 10 = 20\n"},
        {"p $i += 4", 0, "$i = 7\n"},
        {"p $i <= 7", 0, "$i <= 7 = 1\n"},
        {"p 0 && ($i = 1)", 0, "0 && ($i = 1) = 0\n"},
        {"whatis $i = 9", 0, "type = int\n"},
        {"show convenience", 0, "$i = 7\n"},
        {"p $pc = 1", 2, "a recorded run cannot be changed\n"},
        {"p $1 = 1", 2, "a recorded run cannot be changed\n"},
        {"set x = 1", 2, "a recorded run cannot be changed\n"},
        {"set var x = 1", 2, "a recorded run cannot be changed\n"},
        {"show values 7", 0,
         "$1 = -5\n$2 = {first = -5, letter = 97 'a', low = 3, high = 5}\n$3 = -10\n$4 = -5\n$5 = "
         "3\n$6 = 20\n$7 = 7\n"
         "$8 = 1\n$9 = 0\n"},
        {"set print pretty", 0, ""},
        {"p s", 0, "s = {\n  first = -5,\n  letter = 97 'a',\n  low = 3,\n  high = 5\n}\n"},
        {"show print pretty", 0, "print pretty        on\n"},
        {"set print elements some", 2,
         "set: print elements is a number, or unlimited, not 'some'\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void other_words_say_what_to_use(void **state)
{
    static const struct cli_row rows[] = {
        {"call f(1)", 2,
         "'call' is no command here: a recorded run can call no functions; 'print' knows C's "
         "expressions without them\n"},
        {"att 12", 2,
         "'attach' is no command here: there is no process any more, its run is all here; 'quit' "
         "leaves\n"},
        {"help tstart", 2,
         "'tstart' is no command here: everything is recorded: 'instances FILE:LINE' lists when a "
         "line ran, 'history VARIABLE' all its values\n"},
        {"info proc", 2,
         "'info proc' is not there: 'info program' tells of the run, 'info modules' what was "
         "mapped\n"},
        {"show version", 2,
         "'version' is nothing to set or show here: '!wetdbg --version' shows it\n"},
        {"set args a b=c", 2,
         "'args' is nothing to set or show here: they are as they were recorded: 'info program' "
         "shows "
         "them\n"},
        {"set breakpoint pending on", 0, ""},
        {"show nothing", 1,
         "no slice is called 'nothing'; 'let NAME = slice backward CRITERION' makes one\n"},
        {"bt apply", 2,
         "backtrace: 'apply' is no number of frames; usage: backtrace [--limit N] [--all] [full] "
         "[N|-N]\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
    /* none of them hides a command */
    for (const struct cli_other_word *other = cli_other_words; other->word; other++)
        for (const struct cli_command *c = cli_commands; c->name; c++)
            if (strcmp(c->name, other->word) == 0)
                fail_msg("'%s' is a command", c->name);
}

static void frames_are_listed_and_selected(void **state)
{
    static const struct cli_row rows[] = {
        {"bt", 0,
         "*#0  helper (x=-5) at util.c:30\n"
         " #1  0x0000000000001045 in main () at main.c:14\n"},
        {"bt --limit 1", 0, "*#0  helper (x=-5) at util.c:30\n(1 more frames)\n"},
        {"up", 0, "*#1  0x0000000000001045 in main () at main.c:14\n14\tmain line 14;\n"},
        {"up", 1, "this is the outermost frame\n"},
        {"frame", 0, "*#1  0x0000000000001045 in main () at main.c:14\n14\tmain line 14;\n"},
        {"print $rax", 1, "a register of this frame was overwritten by its callees\n"},
        {"down", 0, "*#0  helper (x=-5) at util.c:30\n30\treturn *p;?[31m\n"},
        {"down", 1, "this is the innermost frame\n"},
        {"frame 2", 1, "no frame 2: there are 2\n"},
        {"frame two", 2, "frame: 'two' is no number\n"},
        {"info locals", 0, "c = 97 'a'\n"},
        {"info args", 0, "x = -5\n"},
        {"info registers rax eax eflags", 0,
         "rax            0x3e9               1001\n"
         "eax            0x3e9               1001\n"
         "eflags         0x0                 [ ]\n"},
        {"info registers rxx", 2, "no register is called '$rxx'\n"},
        {"x/2xw p", 0, "0x7000 <storage>:\t0xfffffffb\t0x00002b61\n"},
        {"x/s name", 0, "0x7010 <storage+16>:\t\"hello\\n\"\n"},
        {"x", 0, "0x7017 <storage+23>:\t\"\"\n"},
        {"x/3c text", 0, "0x7010 <storage+16>:\t104 'h'\t101 'e'\t108 'l'\n"},
        {"x/xb 0", 5, "cannot access memory at address 0x0\n"},
        {"x/k p", 2,
         "x: '/k' is no format: a count, one of x z d u o t c a f s i, and one of b h w g\n"},
        {"whatis p", 0, "type = int *\n"},
        {"ptype s", 0,
         "type = struct pair {\n    int first;\n    char letter;\n    int low : 3;\n"
         "    int high : 5;\n}\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void list_goes_on_where_it_ended(void **state)
{
    static const struct cli_row rows[] = {
        {"list main.c:17", 0,
         " 12\t\tmain line 12;\n 13\t\tmain line 13;\n 14\t\tmain line 14;\n"
         " 15\t\tmain line 15;\n 16\t\tmain line 16;\n 17\t\tmain line 17;\n"
         " 18\t\tmain line 18;\n 19\t\tmain line 19;\n 20\t\tmain line 20;\n"},
        {"list", 1, "/src/main.c has no line 21\n"},
        {"list 19", 0,
         " 14\t\tmain line 14;\n 15\t\tmain line 15;\n 16\t\tmain line 16;\n"
         " 17\t\tmain line 17;\n 18\t\tmain line 18;\n 19\t\tmain line 19;\n"
         " 20\t\tmain line 20;\n"},
        {"list 99", 1, "/src/main.c has no line 94\n"},
        {"list 0", 1, "no function is called '0'\n"},
        {"list helper", 1, "the source /src/lib/util.c cannot be read\n"},
        {"list foreign", 1,
         "'foreign' has no line information: libforeign.so has no debug "
         "information (build-id 0badf00d)\n"},
        {"list nothing", 1, "no function is called 'nothing'\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
    struct cli_prompt *f = *state;
    assert_int_equal(cli_prompt_execute(f, "goto main.c:14#1"), 0);
    assert_int_equal(cli_prompt_execute(f, "list 19"), 0);
    assert_non_null(strstr(f->said.answer, "\n 20\t\tmain line 20;\n"));
    assert_int_equal(cli_prompt_execute(f, "goto main.c:14#1"), 0);
    assert_int_equal(cli_prompt_execute(f, "list"), 0);
    assert_non_null(strstr(f->said.answer, "\n>14\t\tmain line 14;\n"));
}

static void instances_and_output_can_be_limited(void **state)
{
    static const struct cli_row rows[] = {
        {"instances main.c:11 --limit 2", 0,
         "main.c:11 ran 124 times\n"
         "#1        time 2              0x1010 main\n"
         "#2        time 10             0x1010 main\n"
         "(122 more; --limit 0 shows all)\n"},
        {"instances main.c", 1, "no function is called 'main.c'; a line is FILE:LINE\n"},
        {"output", 0,
         "time 100                 0+6      \"hello\\n\"\n"
         "time 200                 6+6      \"hello\\n\"\n"},
        {"output 2", 0, "time 150                 0+3      \"hel\"\n"},
        {"output 4+4", 0,
         "time 100                 4+2      \"o\\n\"\n"
         "time 200                 6+2      \"he\"\n"},
        {"output 1 10", 0, "time 200                10+2      \"o\\n\"\n"},
        {"output --limit 1", 0,
         "time 100                 0+6      \"hello\\n\"\n(1 more; --limit 0 shows all)\n"},
        {"output 7", 1, "nothing was written to descriptor 7 there\n"},
        {"output 1 100", 1, "nothing was written to descriptor 1 there\n"},
        {"output x", 1, "the program wrote to no file 'x'\n"},
        {"output 9999999999", 2, "output: '9999999999' is no descriptor\n"},
        {"output out.txt", 0,
         "time 100               100+6      \"hello\\n\"\n"
         "time 100                 ?+6      \"hello\\n\"\n"},
        {"output out.txt 104+1", 0, "time 100               104+1      \"o\"\n"},
        {"output out.txt 0+1", 1, "nothing was written to out.txt there\n"},
        {"info files", 0,
         "  bytes read calls          written calls      first time   file\n"
         "         300 in 2                 -            500          dir/in?.txt (mapped)\n"
         "           -                      6 in 1       506          standard output\n"
         "           7 in 1                 8 in 1       600          /tmp/table\n"},
        {"output 1 x", 2, "output: 'x' is not OFFSET or OFFSET+LEN\n"},
        {"output 1 1+18446744073709551615", 2,
         "output: '1+18446744073709551615' is not OFFSET or OFFSET+LEN\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void info_subjects_are_found_by_prefix(void **state)
{
    static const struct cli_row rows[] = {
        {"info mod", 0,
         "0x0000000000001000 0x0000000000003000  /bin/prog\n"
         "0x0000000000005000 0x0000000000006000  /lib/libforeign.so: no debug information, "
         "build-id 0badf00d\n"
         "files of the recorded machine in this trace:\n"
         "        5000  /bin/prog, from the recording's mmap_hardlink_1_prog: the contents that "
         "were "
         "recorded\n"
         "          70  /usr/lib/debug/prog, from the disk, belongs to /bin/prog\n"
         "          60  /lib/libold.so, from the disk: only size and time were checked\n"
         "           8  a debug file, from the disk, belongs to /lib/libold.so\n"
         "          20  /etc/table, the parts that were mapped, from the recording's "
         "mmap_copy_2_table: only its size was checked\n"
         "           3  /old\n"},
        {"info functions ^h", 0, "0x0000000000002000  helper  prog\n"},
        {"info functions ^z", 1, "no function's name matches '^z'\n"},
        {"info functions [", 2, "bad expression '['\n"},
        {"info sig", 0, "time 1001         SIGSEGV   address not mapped: 0x10\n"},
        {"info lines", 2, "info lines: of which file?\n"},
        {"info lines x.c", 1, "no module knows a source file 'x.c'\n"},
        {"info modules x", 2, "info modules: unexpected argument 'x'\n"},
        {"info types", 0,
         "All defined types:\n\nFile /src/lib/util.c:\n\tint\n\nFile /src/main.c:\n"
         "4:\tstruct node;\n3:\ttypedef unsigned long size_t;\n"},
        {"info types size", 0,
         "All types matching regular expression \"size\":\n\nFile /src/main.c:\n"
         "3:\ttypedef unsigned long size_t;\n"},
        {"info types z z", 1, "no type's name matches 'z z'\n"},
        {"info l", 2, "ambiguous 'info l': line, lines, locals\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

/* ---- slices ---- */

static void slice_shows_lines_then_what_has_none(void **state)
{
    static const struct cli_row rows[] = {
        {"slice backward crash", 0,
         "SIGSEGV at util.c:30 in helper\n"
         "full slice: 13 instances of 11 instructions in 3 lines (0.00 s)\n"
         "util.c:30  helper  x2  | return *p;?[31m\n"
         "main.c:14  main  x3  | main line 14;\n"
         "(left out: 1 line that only called what is in the slice; --all shows it)\n"
         "libraries, and code whose source is not here, by function:\n"
         "  libforeign.so  foreign  x7\n"
         "data that the run never wrote:\n"
         "  storage  bytes 4 to 15, last used at time 7\n"
         "never set by the program: rax\n"},
        {"slice b crash --thin --limit 1", 0,
         "SIGSEGV at util.c:30 in helper\n"
         "thin slice: 13 instances of 11 instructions in 3 lines (0.00 s)\n"
         "util.c:30  helper  x2  | return *p;?[31m\n"
         "(1 more; 'more' shows the next, --limit 0 shows all)\n"
         "(left out: 1 line that only called what is in the slice; --all shows it)\n"
         "libraries, and code whose source is not here, by function:\n"
         "  libforeign.so  foreign  x7\n"
         "data that the run never wrote:\n"
         "  storage  bytes 4 to 15, last used at time 7\n"
         "never set by the program: rax\n"},
        {"slice backward exit", 1, "the run did not exit\n"},
        {"slice backward nonsense", 1,
         "no variable 'nonsense' is visible here, in helper (util.c:30, time 1001); 'help slice' "
         "says what else can be asked for\n"},
        {"slice forward crash --thin --limit 1", 0,
         "the source\n"
         "thin forward slice: 13 instances of 11 instructions in 3 lines (0.00 s)\n"
         "util.c:30  helper  x2  | return *p;?[31m\n"
         "(1 more; 'more' shows the next, --limit 0 shows all)\n"
         "(left out: 1 line that only called what is in the slice; --all shows it)\n"
         "libraries, and code whose source is not here, by function:\n"
         "  libforeign.so  foreign  x7\n"
         "output that it reached: output:1:4-5\n"},
        {"chop --data crash crash --limit 1", 0,
         "the source\n"
         "-> SIGSEGV at util.c:30 in helper\n"
         "data chop: 13 instances of 11 instructions in 3 lines, of 13 that depend on the source "
         "and "
         "13 that led to the target (0.00 s)\n"
         "(by the sum of the distances from the source and to the target)\n"
         "util.c:30  helper  x2  | return *p;?[31m\n"
         "(1 more; 'more' shows the next, --limit 0 shows all)\n"
         "(left out: 1 line that only called what is in the slice; --all shows it)\n"
         "libraries, and code whose source is not here, by function:\n"
         "  libforeign.so  foreign  x7\n"},
        {"chop crash", 2,
         "chop: something is missing; usage: chop SOURCE TARGET [--data|--thin] [--limit N] "
         "[--all] [--stats] [--tree]\n"},
        {"slice sideways crash", 2,
         "slice: 'sideways' is no direction; there are 'backward', 'forward' and 'both'\n"},
        {"slice crash --data --thin", 2,
         "slice: --data, --control and --thin exclude each other\n"},
        {"slice crash --limit x", 2, "slice: option '--limit' needs a number, not 'x'\n"},
        {"slice crash --budget 5", 2, "slice: --budget and --expect are for --implicit\n"},
        {"slice crash --implicit --budget 5d", 2,
         "slice: --budget is a number of runs, or 30s, 5m, 1h, not '5d'\n"},
        {"slice crash --implicit --thin", 2,
         "slice: --implicit is for backward slices of all dependences\n"},
        {"slice both crash --implicit", 2,
         "slice: --implicit is for backward slices of all dependences\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
    struct cli_prompt *f = *state;
    assert_int_equal(cli_prompt_execute(f, "slice backward"), CLI_EXIT_USAGE);
    assert_non_null(strstr(f->said.errors, "slice: of what?"));
}

static void slices_are_pruned_by_marks(void **state)
{
    static const struct cli_row rows[] = {
        {"mark", 0, "nothing is marked\n"},
        {"prune --wrong crash", 0,
         "SIGSEGV at util.c:30 in helper\n"
         "right: crash\n"
         "pruned slice: 9 of 13 instances, 3 of 4 lines (0.00 s)\n"
         "0.00  util.c:30  helper  x2  | return *p;?[31m\n"
         "0.99  main.c:14  main  x2 of 3  | main line 14;\n"
         "libraries, and code whose source is not here, by function:\n"
         "  libforeign.so  foreign  x5\n"},
        {"prune --ok crash --pruned", 0,
         "SIGSEGV at util.c:30 in helper\n"
         "right: crash\n"
         "pruned slice: 9 of 13 instances, 3 of 4 lines (0.00 s)\n"
         "(left out: 1 line that only called what is in the slice; --all shows it)\n"},
        {"prune --ok crash --pruned --all", 0,
         "SIGSEGV at util.c:30 in helper\n"
         "right: crash\n"
         "pruned slice: 9 of 13 instances, 3 of 4 lines (0.00 s)\n"
         "1.00  main.c:10  main  x1  | main line 10;\n"},
        {"prune --tree", 2, "prune: --tree: it ranks lines; 'slice backward' draws them\n"},
        {"mark good util.c:30 --limit 1", 0,
         "SIGSEGV at util.c:30 in helper\n"
         "right: crash, util.c:30\n"
         "pruned slice: 9 of 13 instances, 3 of 4 lines (0.00 s)\n"
         "0.00  util.c:30  helper  x2  | return *p;?[31m\n"
         "(1 more; 'more' shows the next, --limit 0 shows all)\n"
         "libraries, and code whose source is not here, by function:\n"
         "  libforeign.so  foreign  x5\n"},
        {"more", 0, "0.99  main.c:14  main  x2 of 3  | main line 14;\n"},
        {"mark", 0, "good  util.c:30  x1\n"},
        {"mark good util.c:31", 1,
         "util.c:31 is not in the slice of crash: a mark there tells nothing about it\n"},
        {"mark good", 2,
         "mark: usage: mark [good|bad FILE:LINE|FILE:LINE#K|TIME | clear] [--limit N] [--all]\n"},
        {"mark clear", 0, "nothing is marked\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void switched_runs_say_how_they_end(void **state)
{
    static const struct cli_row rows[] = {
        {"what-if x=5 --output 1", 0,
         "it exits with status 5, 1100 instructions (recorded: 1000)\n"
         "changed at time 1001; output differs from byte 7 of descriptor 1 on\n"
         "\"two\\n\"\n"},
        {"what-if x=5 --keep other.wet", 0,
         "it exits with status 5, 1100 instructions (recorded: 1000)\n"
         "changed at time 1001; output differs from byte 7 of descriptor 1 on\n"
         "kept in other.wet\n"},
        {"what-if main.c:11#2 switch --keep other.wet", 3,
         "other.wet: 'main.c:11#2 switch' did not come to its end\n"},
        {"what-if x=0x1ffffffff", 2, "what-if: 0x1ffffffff does not fit into 4 bytes\n"},
        {"what-if x=five", 2, "what-if: 'five' is no number\n"},
        {"what-if main.c:11#2 switch", 0,
         "unresolved: fork: not modelled, 900 instructions (recorded: 1000)\n"
         "changed at time 10; output is as recorded so far\n"},
        {"what-if main.c:12 switch", 1, "nothing on main.c:12 depends on a condition\n"},
        {"what-if main.c:11#0 switch", 2, "what-if: '#0' is no number of an instance\n"},
        {"switch", 2, "switch: one of --expect, --oracle and --no-crash says what is right\n"},
        {"switch --no-crash --jobs 0", 2, "switch: --jobs is 1 to 64, not '0'\n"},
        {"switch --no-crash --order best", 2, "no order 'best'\n"},
        {"switch --no-crash --pass input:0", 2, "switch: --pass is for --order=prior\n"},
        {"switch --oracle true", 2,
         "switch: the recorded run does not fail: the oracle says that it is right\n"},
        {"switch --no-crash", 0,
         "none found: 2 switched runs in 0.0 s, 0 known from before, 0 proven equal; some 1 "
         "left\n"},
        {"switch --expect /dev/zero", 2, "switch: /dev/zero is no file of at most 256 MiB\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void slices_with_names_are_put_together(void **state)
{
    static const struct cli_row rows[] = {
        {"info slices", 0, "no slices with names; 'let A = slice backward CRITERION' makes one\n"},
        {"info implicit", 0,
         "no implicit dependences; 'slice backward CRITERION --implicit' finds them\n"},
        {"show A", 1, "no slice is called 'A'; 'let NAME = slice backward CRITERION' makes one\n"},
        {"let A = slice backward crash", 0, "A has 13 instances in 3 lines\n"},
        {"let longer=chop crash crash", 0, "longer has 13 instances\n"},
        {"let B = A - (A & longer)", 0, "B has 0 instances\n"},
        {"let A = A", 0, "A has 13 instances\n"},
        {"info slices", 0,
         "A       13 instances in 3 lines  A\n"
         "B       0 instances in 3 lines  A - (A & longer)\n"
         "longer  13 instances in 3 lines  chop crash crash\n"},
        {"show A longer", 2, "'&', '|' or '-' is missing before 'longer' in 'A longer'\n"},
        {"show A |longer --limit 1", 0,
         "A |longer: 13 instances of 11 instructions in 3 lines (0.00 s)\n"
         "(the nearest first, as far as distances are known)\n"
         "util.c:30  helper  x2  | return *p;?[31m\n"
         "(1 more; 'more' shows the next, --limit 0 shows all)\n"
         "(left out: 1 line that only called what is in the slice; --all shows it)\n"
         "libraries, and code whose source is not here, by function:\n"
         "  libforeign.so  foreign  x7\n"},
        {"show A --stats --limit 1", 0,
         "A: 13 instances of 11 instructions in 3 lines (0.00 s)\n"
         "by module:\n"
         "             7  53.8 %  libforeign.so, 7 instructions, 0 lines\n"
         "  (1 more; --limit 0 shows all)\n"
         "by function:\n"
         "             7  53.8 %  foreign in libforeign.so, 7 instructions, 0 lines\n"
         "  (2 more; --limit 0 shows all)\n"},
        {"show A --svg x.svg", 2,
         "show: --svg: a set has no dependences; 'slice' and 'chop' draw them\n"},
        {"diff A B --tree", 2,
         "diff: --tree: a set has no dependences; 'slice' and 'chop' draw them\n"},
        {"diff A B --limit 1", 0,
         "A has 13 instances, B 0; both have 13\n"
         "only in A: nothing\n"
         "only in B: nothing\n"},
        {"diff A longer", 0,
         "A has 13 instances, longer 13; both have 13\nonly in A: nothing\nonly in longer: "
         "nothing\n"},
        {"let now = A", 2,
         "a slice cannot be called 'now', which means something in criteria; take another name\n"},
        {"let A = load x.set", 2, "x.set is a set of another run's instances\n"},
        {"let A = load", 2, "let: 'load' takes one file\n"},
        {"save A", 5, "fake.wet.A.set: Permission denied\n"},
        {"let --delete A", 0, ""},
        {"let --delete A", 1, "no slice is called 'A'; 'info slices' lists those that there are\n"},
        {"let --delete B x", 2, "let: --delete NAME takes nothing else ('x')\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void more_goes_on_with_the_lines_of_the_last_slice(void **state)
{
    static const struct cli_row rows[] = {
        {"more", 1, "more: no slice has lines that were not shown\n"},
        {"show A --limit 1 --all", 0,
         "A: 13 instances of 11 instructions in 3 lines (0.00 s)\n"
         "(the nearest first, as far as distances are known)\n"
         "util.c:30  helper  x2  | return *p;?[31m\n"
         "(2 more; 'more' shows the next, --limit 0 shows all)\n"
         "libraries, and code whose source is not here, by function:\n"
         "  libforeign.so  foreign  x7\n"},
        {"more --limit 1", 0,
         "main.c:14  main  x3  | main line 14;\n"
         "(1 more; 'more' shows the next, --limit 0 shows all)\n"},
        {"print x", 0, "x = -5\n"},
        {"more", 0, "main.c:10  main  x1  | main line 10;\n"},
        {"more", 1, "more: no slice has lines that were not shown\n"},
        {"more --limit x", 2, "more: option '--limit' needs a number, not 'x'\n"},
    };
    struct cli_prompt *f = *state;
    assert_int_equal(cli_prompt_execute(f, "let A = slice backward crash"), 0);
    cli_rows_check(f, rows, sizeof(rows) / sizeof(*rows));
    f->said.out.json = true;
    assert_int_equal(cli_prompt_execute(f, "show A --limit 1"), 0);
    assert_int_equal(cli_prompt_execute(f, "more"),
                     CLI_EXIT_NOT_FOUND); /* JSON leaves nothing over */
    f->said.out.json = false;
}

static void slice_as_tree_unfolds(void **state)
{
    static const struct cli_row rows[] = {
        {"expand 1", 1,
         "expand: there is no tree yet; 'slice backward CRITERION --tree' shows one\n"},
        {"slice backward crash --tree", 0,
         "SIGSEGV at util.c:30 in helper\n"
         "full slice: 13 instances of 11 instructions in 3 lines (0.00 s)\n"
         "#1   criterion util.c:30  helper  x2  | return *p;?[31m\n"
         "#2     value     main.c:14  main  x1  | main line 14;\n"
         "#3       value     libforeign.so  foreign  x2\n"
         "#4         value     main.c:10  main  x3  | main line 10;\n"
         "('expand N' unfolds row #N, of which (+K) are not shown; libraries are passed by but "
         "with "
         "--all)\n"},
        {"expand #3", 0,
         "#3       value     libforeign.so  foreign  x2\n"
         "#4         value     main.c:10  main  x3  | main line 10;\n"},
        {"expand 4", 0,
         "#4         value     main.c:10  main  x3  | main line 10;\n"
         "(nothing in the slice gave anything to it)\n"},
        {"expand 5", 1, "expand: there is no row #5; the last one is #4\n"},
        {"expand x", 2, "expand: 'x' is no row; rows are called #1, #2...\n"},
        {"slice both crash --tree", 2,
         "slice: both ways there are no distances: --tree, --dot and --svg take one direction\n"},
        {"slice backward crash --dot /no/such/folder/x", 5,
         "/no/such/folder/x.part: No such file or directory\n"},
        {"chop crash crash --tree", 0,
         "the source\n"
         "-> SIGSEGV at util.c:30 in helper\n"
         "full chop: 13 instances of 11 instructions in 3 lines, of 13 that depend on the source "
         "and 13 that led to the target (0.00 s)\n"
         "#1   criterion util.c:30  helper  x2  | return *p;?[31m\n"
         "#2     value     main.c:14  main  x1  | main line 14;\n"
         "#3       value     libforeign.so  foreign  x2\n"
         "#4         value     main.c:10  main  x3  | main line 10;\n"
         "('expand N' unfolds row #N, of which (+K) are not shown; libraries are passed by but "
         "with "
         "--all)\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void slice_in_numbers(void **state)
{
    static const struct cli_row rows[] = {
        {"slice backward crash --stats --limit 2", 0,
         "SIGSEGV at util.c:30 in helper\n"
         "full slice: 13 instances of 11 instructions in 3 lines (0.00 s)\n"
         "by kind of the dependence:\n"
         "             6  value\n"
         "             0  address\n"
         "             0  condition\n"
         "             0  control\n"
         "by module:\n"
         "             7  53.8 %  libforeign.so, 7 instructions, 0 lines\n"
         "             6  46.2 %  prog, 4 instructions, 3 lines\n"
         "by function:\n"
         "             7  53.8 %  foreign in libforeign.so, 7 instructions, 0 lines\n"
         "             4  30.8 %  main in prog, 3 instructions, 2 lines\n"
         "  (1 more; --limit 0 shows all)\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void slice_both_ways_is_one_slice(void **state)
{
    static const struct cli_row rows[] = {
        {"slice both crash --limit 1", 0,
         "SIGSEGV at util.c:30 in helper\n"
         "full slice both ways: 13 instances of 11 instructions in 3 lines, 13 led to it, 13 "
         "depend "
         "on it (0.00 s)\n"
         "util.c:30  helper  x2  | return *p;?[31m\n"
         "(1 more; 'more' shows the next, --limit 0 shows all)\n"
         "(left out: 1 line that only called what is in the slice; --all shows it)\n"
         "libraries, and code whose source is not here, by function:\n"
         "  libforeign.so  foreign  x7\n"
         "output that it reached: output:1:4-5\n"
         "data that the run never wrote:\n"
         "  storage  bytes 4 to 15, last used at time 7\n"
         "never set by the program: rax\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void slice_instances_are_shown_under_their_lines(void **state)
{
    struct cli_prompt *f = *state;
    assert_int_equal(cli_prompt_execute(f, "slice backward crash --instances"), 0);
    assert_non_null(strstr(f->said.answer,
                           "main.c:14  main  x3  | main line 14;\n"
                           "      time 989          0x1040           value of time 1001, "
                           "distance 1\n"));
}

static void slice_interrupted_gives_status_130(void **state)
{
    struct cli_prompt *f = *state;
    fake_slice_is_interrupted = true;
    assert_int_equal(cli_prompt_execute(f, "slice backward crash"), CLI_EXIT_INTERRUPTED);
    assert_string_equal(f->said.errors, "interrupted\n");
}

static void why_explains_the_last_slice(void **state)
{
    static const struct cli_row rows[] = {
        {"why main.c:10", 2, "why: there is no slice yet; use 'slice' first\n"},
        {"slice backward exit", 1, "the run did not exit\n"},
        {"why main.c:10", 2, "why: there is no slice yet; use 'slice' first\n"},
    };
    static const struct cli_row after[] = {
        {"why main.c:10", 0,
         "#0   time 1001         criterion helper  util.c:30  | return *p;?[31m\n"
         "#1   time 989          value     main  main.c:14  | main line 14;  [rax = 0x3e9]\n"
         "#2   time 507          control   0x5000 <foreign>  libforeign.so\n"
         "#3   time 1            address   main  main.c:10  | main line 10;  "
         "[the byte at 0x7004 <storage+4> = 0x61]\n"},
        {"why src/main.c:10 --limit 2", 0,
         "#0   time 1001         criterion helper  util.c:30  | return *p;?[31m\n"
         "     ... 2 hops; --limit 0 shows all\n"
         "#3   time 1            address   main  main.c:10  | main line 10;  "
         "[the byte at 0x7004 <storage+4> = 0x61]\n"},
        {"why main.c:11", 1, "main.c:11 is not in the full slice of crash\n"},
        {"why ain.c:10", 1, "no module knows a source file 'ain.c'\n"},
        {"why main.c:99", 1, "no code at main.c:99; nearest: main.c:10\n"},
        {"why 989", 0,
         "#0   time 1001         criterion helper  util.c:30  | return *p;?[31m\n"
         "#1   time 989          value     main  main.c:14  | main line 14;  [rax = 0x3e9]\n"},
        {"why *0x2000", 0,
         "#0   time 1001         criterion helper  util.c:30  | return *p;?[31m\n"},
        {"why 990", 1, "990 is not in the full slice of crash\n"},
        {"why *0x1", 1, "*0x1 is not in the full slice of crash\n"},
        {"why *x", 2, "'*x': behind '*' comes an address\n"},
    };
    struct cli_prompt *f = *state;
    cli_rows_check(f, rows, sizeof(rows) / sizeof(*rows));
    assert_int_equal(cli_prompt_execute(f, "slice backward crash"), 0);
    assert_int_equal(fake_slice_count, 2); /* a first look, and all of it */
    cli_rows_check(f, after, sizeof(after) / sizeof(*after));
    assert_int_equal(fake_slice_count, 3); /* once more for the parents, then kept */
}

static void why_shows_a_loop_as_one_row(void **state)
{
    static const struct cli_row rows[] = {
        {"why main.c:10", 0,
         "#0   time 1001         criterion helper  util.c:30  | return *p;?[31m\n"
         "#1   time 989          value     main  main.c:14  | main line 14;  [rax = 0x3e9]\n"
         "#2   time 507          control   0x5000 <foreign>  libforeign.so\n"
         "     these 2 40 times more, back to time 507; --unfold shows each\n"
         "#83  time 1            address   main  main.c:10  | main line 10;  "
         "[the byte at 0x7004 <storage+4> = 0x61]\n"},
        {"why main.c:10 --unfold --limit 3", 0,
         "#0   time 1001         criterion helper  util.c:30  | return *p;?[31m\n"
         "#1   time 989          value     main  main.c:14  | main line 14;  [rax = 0x3e9]\n"
         "     ... 81 hops; --limit 0 shows all\n"
         "#83  time 1            address   main  main.c:10  | main line 10;  "
         "[the byte at 0x7004 <storage+4> = 0x61]\n"},
    };
    struct cli_prompt *f = *state;
    fake_path_turns = 40;
    assert_int_equal(cli_prompt_execute(f, "slice backward crash"), 0);
    cli_rows_check(f, rows, sizeof(rows) / sizeof(*rows));
    f->said.out.json = true;
    assert_int_equal(cli_prompt_execute(f, "why main.c:10 --limit 0"), 0);
    f->said.out.json = false;
    fake_path_turns = 0;
    json_t *object = json_loads(f->said.answer, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(object, "hops")), 84);
    json_decref(object);
}

static void decisions_are_those_of_the_last_slice_or_of_a_criterion(void **state)
{
    static const struct cli_row before[] = {
        {"decisions", 2, "decisions: of what? there is no slice yet\n"},
        {"decisions exit", 1, "the run did not exit\n"},
    };
    static const struct cli_row rows[] = {
        {"decisions", 0,
         "SIGSEGV at util.c:30 in helper\n"
         "time 989          main.c:14  main  x3  | main line 14;\n"
         "     it went on to util.c:30; otherwise to main.c:10, and would have left there\n"
         "time 1            main.c:10  main  x1  | main line 10;\n"},
        {"decisions crash --limit 1", 0,
         "SIGSEGV at util.c:30 in helper\n"
         "time 989          main.c:14  main  x3  | main line 14;\n"
         "     it went on to util.c:30; otherwise to main.c:10, and would have left there\n"},
    };
    struct cli_prompt *f = *state;
    cli_rows_check(f, before, sizeof(before) / sizeof(*before));
    assert_int_equal(cli_prompt_execute(f, "slice backward crash"), 0);
    cli_rows_check(f, rows, sizeof(rows) / sizeof(*rows));
}

/* ---- breakpoints ---- */

/* ---- JSON ---- */

static void json_of_each_command_is_one_object_with_schema(void **state)
{
    static const struct {
        const char *line, *schema, *key;
    } rows[] = {
        {"slice backward crash", "wetdbg.slice/1", "lines"},
        {"slice backward crash --instances", "wetdbg.slice/1", "statements"},
        {"slice both crash", "wetdbg.slice/1", "output"},
        {"slice both crash --stats", "wetdbg.slice/1", "stats"},
        {"slice backward crash --tree", "wetdbg.slice/1", "links"},
        {"let A = slice both crash", "wetdbg.let/1", "instances"},
        {"show A", "wetdbg.show/1", "lines"},
        {"diff A A", "wetdbg.diff/1", "only_a"},
        {"info slices", "wetdbg.slices/1", "slices"},
        {"info implicit", "wetdbg.implicit/1", "implicit"},
        {"let --delete A", "wetdbg.let/1", "deleted"},
        {"prune", "wetdbg.prune/1", "lines"},
        {"mark good main.c:14", "wetdbg.prune/1", "marks"},
        {"mark", "wetdbg.marks/1", "marks"},
        {"what-if main.c:11#1 switch", "wetdbg.what-if/1", "unresolved"},
        {"switch --no-crash", "wetdbg.switch-end/1", "findings"},
        {"why main.c:10", "wetdbg.why/1", "hops"},
        {"decisions", "wetdbg.decisions/1", "decisions"},
        {"instances main.c:11", "wetdbg.instances/1", "instances"},
        {"break main.c:12", "wetdbg.breakpoint/1", "breakpoint"},
        {"run", "wetdbg.position/1", "stops"},
        {"info breakpoints", "wetdbg.breakpoints/1", "breakpoints"},
        {"continue 2", "wetdbg.position/1", "stops"},
        {"tbreak main.c:13", "wetdbg.breakpoint/1", "breakpoint"},
        {"rbreak main", "wetdbg.breakpoints/1", "breakpoints"},
        {"catch syscall", "wetdbg.breakpoint/1", "breakpoint"},
        {"condition 1 1", "wetdbg.breakpoints/1", "breakpoints"},
        {"ignore 1 3", "wetdbg.breakpoints/1", "breakpoints"},
        {"disable 1", "wetdbg.breakpoints/1", "breakpoints"},
        {"enable 1", "wetdbg.breakpoints/1", "breakpoints"},
        {"clear main.c:12", "wetdbg.breakpoints/1", "breakpoints"},
        {"delete", "wetdbg.breakpoints/1", "breakpoints"},
        {"display 1", "wetdbg.displays/1", "displays"},
        {"info display", "wetdbg.displays/1", "displays"},
        {"goto start", "wetdbg.position/1", "displays"},
        {"undisplay 1", "wetdbg.displays/1", "displays"},
        {"start", "wetdbg.position/1", "time"},
        {"goto crash", "wetdbg.position/1", "time"},
        {"watch *p", "wetdbg.breakpoint/1", "breakpoint"},
        {"rwatch *p", "wetdbg.breakpoint/1", "breakpoint"},
        {"awatch *p", "wetdbg.breakpoint/1", "breakpoint"},
        {"delete", "wetdbg.breakpoints/1", "breakpoints"},
        {"backtrace", "wetdbg.backtrace/1", "frames"},
        {"frame 1", "wetdbg.frame/1", "function"},
        {"echo x", "wetdbg.echo/1", "text"},
        {"apropos slice", "wetdbg.help/1", "commands"},
        {"print x", "wetdbg.print/1", "value"},
        {"print x", "wetdbg.print/1", "history"},
        {"show values", "wetdbg.values/1", "values"},
        {"show convenience", "wetdbg.convenience/1", "variables"},
        {"show listsize", "wetdbg.settings/1", "listsize"},
        {"set print pretty on", "wetdbg.settings/1", "print_pretty"},
        {"list main.c:12", "wetdbg.list/1", "lines"},
        {"output", "wetdbg.output/1", "writes"},
        {"info", "wetdbg.info/1", "instructions"},
        {"info modules", "wetdbg.modules/1", "modules"},
        {"info sharedlibrary", "wetdbg.libraries/1", "libraries"},
        {"info symbol helper", "wetdbg.symbol/1", "symbol"},
        {"info line main.c:12", "wetdbg.line/1", "lines"},
        {"info source", "wetdbg.source/1", "file"},
        {"info frame", "wetdbg.stack_frame/1", "saved_pc"},
        {"info types", "wetdbg.types/1", "types"},
        {"info signals", "wetdbg.signals/1", "signals"},
        {"info files", "wetdbg.files/1", "files"},
        {"output out.txt", "wetdbg.output/1", "path"},
        {"info functions", "wetdbg.functions/1", "functions"},
        {"info lines main.c", "wetdbg.lines/1", "lines"},
        {"frame 0", "wetdbg.frame/1", "function"},
        {"info locals", "wetdbg.locals/1", "variables"},
        {"info registers", "wetdbg.registers/1", "registers"},
        {"info args", "wetdbg.locals/1", "variables"},
        {"x/2xw p", "wetdbg.memory/1", "units"},
        {"whatis x", "wetdbg.type/1", "bytes"},
        {"ptype s", "wetdbg.type/1", "members"},
        {"help", "wetdbg.help/1", "commands"},
        {"help print", "wetdbg.help/1", "commands"},
        {"goto 5000", "wetdbg.error/1", "message"},
        {"nonsense", "wetdbg.error/1", "status"},
    };
    struct cli_prompt *f = *state;
    f->said.out.json = true;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        cli_prompt_execute(f, rows[i].line);
        size_t length = strlen(f->said.answer);
        json_t *object = json_loads(f->said.answer, 0, NULL);
        if (!object || !length || strchr(f->said.answer, '\n') != f->said.answer + length - 1)
            fail_msg("'%s' gave no single line of JSON: %s", rows[i].line, f->said.answer);
        assert_string_equal(json_string_value(json_object_get(object, "schema")), rows[i].schema);
        if (!json_object_get(object, rows[i].key))
            fail_msg("'%s' gave no '%s': %s", rows[i].line, rows[i].key, f->said.answer);
        assert_string_equal(f->said.errors, "");
        json_decref(object);
    }
}

static void json_slice_gives_absolute_files_and_counts(void **state)
{
    struct cli_prompt *f = *state;
    f->said.out.json = true;
    assert_int_equal(cli_prompt_execute(f, "slice backward crash"), 0);
    json_t *object = json_loads(f->said.answer, 0, NULL);
    json_t *lines = json_object_get(object, "lines");
    json_t *first = json_array_get(lines, 0);
    assert_string_equal(json_string_value(json_object_get(object, "criterion")), "crash");
    assert_int_equal(json_integer_value(json_object_get(object, "instances")), 13);
    assert_int_equal(json_integer_value(json_object_get(object, "statements")), 11);
    assert_int_equal(json_array_size(lines), 3);
    assert_string_equal(json_string_value(json_object_get(first, "file")), "/src/lib/util.c");
    assert_int_equal(json_integer_value(json_object_get(first, "line")), 30);
    assert_string_equal(json_string_value(json_object_get(first, "function")), "helper");
    assert_int_equal(json_integer_value(json_object_get(first, "instances")), 2);
    for (size_t i = 0; i < 3; i++) /* of main.c:10 there is only a call */
        assert_int_equal(json_is_true(json_object_get(json_array_get(lines, i), "only_calls")),
                         json_integer_value(json_object_get(json_array_get(lines, i), "line")) ==
                             10);
    json_decref(object);
}

/* ---- several threads, events of uncertain place ---- */

static int set_up_threads(void **state)
{
    fake_set_threads(3, 2);
    return cli_rows_open(state);
}

static int tear_down_threads(void **state)
{
    fake_set_threads(1, 0);
    return cli_rows_close(state);
}

#define UNCERTAIN(count, s)                                                                        \
    "(uncertain: " count " event" s " before this may have come at another moment; see 'info "     \
    "ambiguous')\n"

static void threads_are_listed_with_where_they_stand(void **state)
{
    static const struct cli_row rows[] = {
        {"goto 400", 0, "time 400, thread 1 (prog): main at main.c:17\n17\tmain line 17;\n"},
        {"info threads", 0,
         "  N   TID      NAME                   START          END  STATE            WHERE\n"
         "* 1   42       prog                       1            -  runs             main at "
         "main.c:17\n"
         "  2   43       worker                   500            -  not begun\n"
         "  3   44       short                    600          599  not begun\n"},
        {"thread 2", 1, "thread 2 begins at time 500\n"},
        {"thread 4", 1, "there is no thread 4: there are 1 to 3\n"},
        {"thread worker", 2, "thread: 'worker' is no number\n"},
        {"goto crash", 0,
         "time 1001, thread 2 (worker): helper at util.c:30\n30\treturn *p;?[31m\n" UNCERTAIN("2",
                                                                                              "s")},
        {"info threads", 0,
         "  N   TID      NAME                   START          END  STATE            WHERE\n"
         "  1   42       prog                       1            -  in futex         main at "
         "main.c:12\n"
         "* 2   43       worker                   500            -  runs             helper at "
         "util.c:30\n"
         "  3   44       short                    600          599  ended\n" UNCERTAIN("2", "s")},
        {"thread 3", 1, "thread 3 has ended, at time 599\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void thread_selects_whose_frames_are_shown(void **state)
{
    static const struct cli_row rows[] = {
        {"thread 1", 0,
         "time 1001, thread 1 (prog): main at main.c:12\n12\tmain line 12;\n" UNCERTAIN("2", "s")},
        {"backtrace", 0, "thread 1 (prog):\n*#0  main () at main.c:12\n" UNCERTAIN("2", "s")},
        {"thread", 0,
         "time 1001, thread 1 (prog): main at main.c:12\n12\tmain line 12;\n" UNCERTAIN("2", "s")},
        {"bt --all", 0,
         "thread 1 (prog):\n"
         "*#0  main () at main.c:12\n"
         "thread 2 (worker):\n"
         " #0  helper (x=-5) at util.c:30\n"
         " #1  0x0000000000001045 in main () at main.c:14\n" UNCERTAIN("2", "s")},
        {"frame", 0, "*#0  main () at main.c:12\n12\tmain line 12;\n" UNCERTAIN("2", "s")},
        {"goto 600", 0,
         "time 600, thread 1 (prog): main at main.c:17\n17\tmain line 17;\n" UNCERTAIN("1", "")},
        {"print x", 0, "x = -5\n" UNCERTAIN("1", "")},
        {"print --at=100 x", 0, "x = -5\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void slice_names_the_threads_of_a_line(void **state)
{
    struct cli_prompt *f = *state;
    assert_int_equal(cli_prompt_execute(f, "slice backward crash --limit 2"), 0);
    assert_non_null(strstr(f->said.answer, "  helper  x2  thread 2  | "));
    assert_non_null(strstr(f->said.answer, "  main  x3  thread 1  | "));
    assert_non_null(strstr(f->said.answer, UNCERTAIN("2", "s")));
    assert_int_equal(cli_prompt_execute(f, "why main.c:14"), 0);
    assert_non_null(strstr(f->said.answer, "util.c:30 thread 2 (worker)"));
    assert_non_null(strstr(f->said.answer, "main.c:14 thread 1 (prog)"));
    f->said.out.json = true;
    assert_int_equal(cli_prompt_execute(f, "slice backward crash"), 0);
    f->said.out.json = false;
    json_t *object = json_loads(f->said.answer, 0, NULL);
    json_t *lines = json_object_get(object, "lines");
    json_t *threads = json_object_get(json_array_get(lines, 0), "threads");
    assert_int_equal(json_array_size(threads), 1);
    assert_int_equal(json_integer_value(json_array_get(threads, 0)), 2);
    json_decref(object);
}

static void uncertain_events_are_listed(void **state)
{
    static const struct cli_row rows[] = {
        {"info ambiguous", 0,
         "time 500          frame 50        SIGALRM   thread 1 (prog)\n"
         "time 993          frame 90        switch    thread 1 (prog)\n"},
        {"info signals", 0,
         "time 1001         SIGSEGV   thread 2 (worker) address not mapped: 0x10\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static json_t *answer_in_json(struct cli_prompt *f, const char *line)
{
    f->said.out.json = true;
    assert_int_equal(cli_prompt_execute(f, line), 0);
    f->said.out.json = false;
    json_t *object = json_loads(f->said.answer, 0, NULL);
    if (!object)
        fail_msg("'%s' is no JSON: %s", line, f->said.answer);
    return object;
}

static void implicit_dependences_are_told(void **state)
{
    static const char *const texts[] = {
        "implicit dependences: 1, of 3 switched runs 1 proved some, 1 refuted, 1 unresolved (1: ",
        "fork: not modelled); 1 left untried, --budget allows more",
        "implicit: main.c:10#2 switched, the use at main.c:11", " gets another value: 9, not 1\n"};
    struct cli_prompt *f = *state;
    assert_int_equal(cli_prompt_execute(f, "slice crash --implicit --budget 3"), 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (!strstr(f->said.answer, texts[i]))
            fail_msg("there is no '%s' in:\n%s", texts[i], f->said.answer);
    json_t *object = answer_in_json(f, "slice crash --implicit");
    json_t *implicit = json_object_get(object, "implicit");
    json_t *edge = json_array_get(json_object_get(implicit, "edges"), 0);
    assert_int_equal(json_integer_value(json_object_get(implicit, "left")), 0);
    assert_string_equal(json_string_value(json_object_get(edge, "effect")), "value");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(edge, "use"), "time")),
                     900);
    json_decref(object);
}

static void uses_that_do_not_happen_are_counted(void **state)
{
    static const char counted[] = "(2 more implicit dependences: the use does not happen; 'info "
                                  "implicit' shows all)\n";
    static const char missing[] = "#2 switched, the use at main.c:11 does not happen\n";
    struct cli_prompt *f = *state;
    assert_int_equal(cli_prompt_execute(f, "slice crash --implicit --budget 4"), 0);
    assert_non_null(strstr(f->said.answer, counted));
    assert_null(strstr(f->said.answer, missing));
    static const char *const all[] = {"info implicit", "slice crash --implicit --budget 4 --all"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(cli_prompt_execute(f, all[i]), 0);
        if (strstr(f->said.answer, counted) || !strstr(f->said.answer, missing))
            fail_msg("%s: %s", all[i], f->said.answer);
    }
}

static void json_names_thread_and_uncertain_events(void **state)
{
    static const char *const lines[] = {"goto crash",  "backtrace",      "frame",      "print x",
                                        "info locals", "info registers", "slice crash"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        json_t *object = answer_in_json(*state, lines[i]);
        json_t *ambiguous = json_object_get(object, "ambiguous_events");
        if (json_integer_value(ambiguous) != 2 || !json_object_get(object, "thread_name") ||
            !json_object_get(object, "tid"))
            fail_msg("%s: %s", lines[i], ((struct cli_prompt *)*state)->said.answer);
        json_decref(object);
    }
    json_t *object = answer_in_json(*state, "info threads");
    json_t *rows = json_object_get(object, "threads");
    assert_int_equal(json_array_size(rows), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "syscall")),
                        "futex");
    assert_true(json_is_true(json_object_get(json_array_get(rows, 1), "selected")));
    json_decref(object);
    object = answer_in_json(*state, "info program");
    assert_int_equal(json_array_size(json_object_get(object, "thread_list")), 3);
    assert_int_equal(json_integer_value(json_object_get(object, "ambiguous_events")), 2);
    json_decref(object);
}

static void one_thread_is_not_mentioned(void **state)
{
    struct cli_prompt *f = *state;
    static const char *const lines[] = {"goto crash", "backtrace",   "frame",
                                        "print x",    "info locals", "slice crash"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        json_t *object = answer_in_json(f, lines[i]);
        assert_null(json_object_get(object, "thread"));
        assert_null(json_object_get(object, "ambiguous_events"));
        json_decref(object);
    }
}

#define CASE(name)         cmocka_unit_test_setup_teardown(name, cli_rows_open, cli_rows_close)
#define THREADS_CASE(name) cmocka_unit_test_setup_teardown(name, set_up_threads, tear_down_threads)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(opening_shows_signal_line_and_frames),
        CASE(origin_shows_each_hop_and_how_chains_end),
        CASE(registers_of_avx512_are_there_where_the_processor_has_them),
        CASE(goto_understands_each_form_of_time),
        CASE(print_writes_values_as_gdb_does),
        CASE(values_have_numbers_and_names),
        CASE(other_words_say_what_to_use),
        CASE(frames_are_listed_and_selected),
        CASE(list_goes_on_where_it_ended),
        CASE(instances_and_output_can_be_limited),
        CASE(info_subjects_are_found_by_prefix),
        CASE(slice_shows_lines_then_what_has_none),
        CASE(slices_are_pruned_by_marks),
        CASE(implicit_dependences_are_told),
        CASE(uses_that_do_not_happen_are_counted),
        CASE(switched_runs_say_how_they_end),
        CASE(slices_with_names_are_put_together),
        CASE(more_goes_on_with_the_lines_of_the_last_slice),
        CASE(slice_as_tree_unfolds),
        CASE(slice_in_numbers),
        CASE(slice_both_ways_is_one_slice),
        CASE(slice_instances_are_shown_under_their_lines),
        CASE(slice_interrupted_gives_status_130),
        CASE(why_explains_the_last_slice),
        CASE(why_shows_a_loop_as_one_row),
        CASE(decisions_are_those_of_the_last_slice_or_of_a_criterion),
        CASE(json_of_each_command_is_one_object_with_schema),
        CASE(json_slice_gives_absolute_files_and_counts),
        CASE(one_thread_is_not_mentioned),
        THREADS_CASE(threads_are_listed_with_where_they_stand),
        THREADS_CASE(thread_selects_whose_frames_are_shown),
        THREADS_CASE(slice_names_the_threads_of_a_line),
        THREADS_CASE(uncertain_events_are_listed),
        THREADS_CASE(json_names_thread_and_uncertain_events),
    };
    return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
