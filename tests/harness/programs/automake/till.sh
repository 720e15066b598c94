# The program whose failing it passes on is another process.
./shop_till 10 9 90 || exit
./shop_till 10 10 90
